"""This machine, as a node sees it that can run no containers."""

from mooring.node.role import MachineInfo
from mooring.node.root import NodeRoot
from mooring.node.status.hardware import read_amounts, read_identity
from mooring.oci.probe import NoRuntime


def machine_without_runtime(root: NodeRoot) -> MachineInfo:
    return MachineInfo(read_identity(), read_amounts(root.layout.root), NoRuntime("none"))
