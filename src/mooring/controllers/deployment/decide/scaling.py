"""A deployment whose size was changed: its replica sets follow, in proportion to their sizes."""

from mooring.controllers.deployment.decide.limits import is_rolling, most_pods
from mooring.controllers.deployment.decide.revision import sizes, told_size
from mooring.controllers.deployment.decide.sets import Sets, age_of, wanted_pods
from mooring.controllers.deployment.plan import ScaleSet
from mooring.model.deployment import Deployment
from mooring.model.replica_set import ReplicaSet
from mooring.model.wellknown import Annotation


def scaled(deployment: Deployment, each: ReplicaSet, replicas: int) -> list[ScaleSet]:
    """The step to this size; none when the replica set has it, and says so."""
    told = sizes(deployment)
    present = each.metadata.annotations
    if each.spec.replicas == replicas and told.items() <= present.items():
        return []
    return [ScaleSet(deployment, each, replicas, told)]


def was_scaled(deployment: Deployment, sets: Sets) -> bool:
    """Whether a replica set was made for another size of the deployment."""
    if not is_rolling(deployment) and len(sets.active) > 1:
        return False  # all but one of them go, whatever the size
    told = (told_size(each, Annotation.DESIRED_REPLICAS) for each in sets.active)
    return any(size is not None and size != deployment.spec.replicas for size in told)


def scale(deployment: Deployment, sets: Sets) -> list[ScaleSet]:
    wanted, active = deployment.spec.replicas, sets.active
    if len(active) == 1:
        return scaled(deployment, active[0], wanted)
    if not active:
        latest = sets.new or (sets.old[-1] if sets.old else None)
        resized = latest is not None and latest.spec.replicas != wanted
        return scaled(deployment, latest, wanted) if latest is not None and resized else []
    if _is_saturated(deployment, sets.new):
        return [step for each in sets.active_old for step in scaled(deployment, each, 0)]
    return _in_proportion(deployment, active) if is_rolling(deployment) else []


def _is_saturated(deployment: Deployment, new: ReplicaSet | None) -> bool:
    """Whether the new replica set alone does all that is wanted."""
    wanted = deployment.spec.replicas
    return new is not None and (
        new.spec.replicas == wanted
        and told_size(new, Annotation.DESIRED_REPLICAS) == wanted
        and new.status.available_replicas == wanted
    )


def _in_proportion(deployment: Deployment, active: tuple[ReplicaSet, ...]) -> list[ScaleSet]:
    """The larger ones take more of the difference; what rounding leaves goes to the first."""
    most = most_pods(deployment) if deployment.spec.replicas else 0
    to_add = most - wanted_pods(active)
    by_size = sorted(active, key=age_of, reverse=to_add > 0)
    by_size.sort(key=lambda each: -each.spec.replicas)
    sizes_by_name: dict[str, int] = {}
    added = 0
    for each in by_size:
        share = _share(deployment, each, to_add, added)
        sizes_by_name[each.name] = each.spec.replicas + share
        added += share
    first = by_size[0].name
    sizes_by_name[first] = max(sizes_by_name[first] + to_add - added, 0)
    return [step for each in by_size for step in scaled(deployment, each, sizes_by_name[each.name])]


def _share(deployment: Deployment, each: ReplicaSet, to_add: int, added: int) -> int:
    if to_add == added:
        return 0
    fraction, left = _fraction(deployment, each), to_add - added
    return min(fraction, left) if to_add > 0 else max(fraction, left)


def _fraction(deployment: Deployment, each: ReplicaSet) -> int:
    """How much it would grow if it grew as the deployment does."""
    size = each.spec.replicas
    if not deployment.spec.replicas:
        return -size
    before = told_size(each, Annotation.MAX_REPLICAS) or deployment.status.replicas
    if not before:
        return 0
    return (2 * size * most_pods(deployment) + before) // (2 * before) - size
