"""What a client may cost: every number in one place. `docs/decisions/0021-budgets.md` says why.

Limits of connections and of bytes under way are in `http/limits.py`.
"""

MOST_BODY_BYTES = 3 * 1024 * 1024  # of a request, whatever its kind
MOST_OBJECT_BYTES = 1_572_864  # 1.5 MiB: of a stored object, as etcd has it for a request
MOST_VALUES = 20_000  # in one document: objects, lists and what they hold
MOST_PATCH_VALUES = 60_000  # in a JSON patch: ten thousand operations, as upstream has it
MOST_YAML_NODES = 10_000  # of a body that is no JSON, aliases followed: each costs as much as ten
MOST_ERRORS = 100  # field errors in one answer
MOST_ERROR_BYTES = 65_536  # of their texts
MOST_TERMS = 256  # of a label selector, and of a field selector
MOST_STREAMS = 1_100  # of one user at a time: watches, and what goes through to nodes
MOST_NODE_STREAMS = 500  # of these through to nodes: each has two connections, with keys of its own
MOST_WATCH_BYTES = 131_072  # prepared for a watcher at a time; one event may be larger
HELD_BEHIND = 1 << 20  # bytes in the buffers of the connection to a node whose client does not read
HIGH_WATER = 64 * 1024  # unsent bytes at which a sender has to wait
MOST_CONVERSIONS = 8  # questions at a time to the conversion webhook of one definition
MOST_CONVERTED_AT_ONCE = 1 << 20  # bytes of stored objects in one such question, if not one is more
MOST_CONVERTED_VALUES = 200_000  # in one answer to it
MOST_CONVERTED_BYTES = 32 << 20  # of converted objects that are kept for the next reader
