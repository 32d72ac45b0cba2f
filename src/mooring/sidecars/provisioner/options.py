"""How a provisioner does its work; the defaults are those of external-provisioner."""

import msgspec


class Delays(msgspec.Struct, frozen=True):
    """Before a node takes a claim that all nodes may take, in seconds."""

    base: float = 20.0
    most: float = 60.0


class ProvisionerOptions(msgspec.Struct, frozen=True):
    call_seconds: float = 10.0  # how long a driver may take for a call
    strict_topology: bool = False  # late binding: the chosen node's place and no other
    immediate_topology: bool = True  # False: send all topology segments
    extra_create_metadata: bool = False  # send the names of claim and volume
    default_fs_type: str = ""
    cross_namespace: bool = False  # sources in other namespaces, where a ReferenceGrant allows it
    controller_publish_readonly: bool = False  # volumes for ReadOnlyMany alone are attached so
    takes_immediate: bool = True  # serving one node: also claims for which no pod chose a node
    turns: Delays = Delays()  # of these


AS_UPSTREAM = ProvisionerOptions()
