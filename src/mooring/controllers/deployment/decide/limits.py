"""How many pods there may be too many, and too few, while a deployment is rolled out."""

from mooring.model.deployment import Deployment, RollingUpdate, StrategyType


def is_rolling(deployment: Deployment) -> bool:
    return deployment.spec.strategy.type is StrategyType.ROLLING_UPDATE


def max_surge(deployment: Deployment) -> int:
    """Percentages are rounded up."""
    if not is_rolling(deployment):
        return 0
    return _of(_rolling(deployment).max_surge, deployment.spec.replicas, up=True)


def max_unavailable(deployment: Deployment) -> int:
    """Percentages are rounded down; one when neither more nor fewer would be allowed."""
    replicas = deployment.spec.replicas
    if not is_rolling(deployment) or not replicas:
        return 0
    fewer = _of(_rolling(deployment).max_unavailable, replicas, up=False)
    if not fewer and not max_surge(deployment):
        fewer = 1
    return min(fewer, replicas)


def most_pods(deployment: Deployment) -> int:
    return deployment.spec.replicas + max_surge(deployment)


def least_available(deployment: Deployment) -> int:
    return deployment.spec.replicas - max_unavailable(deployment)


def _rolling(deployment: Deployment) -> RollingUpdate:
    return deployment.spec.strategy.rolling_update or RollingUpdate()


def _of(value: int | str, total: int, *, up: bool) -> int:
    if isinstance(value, int):
        return value
    digits = value.removesuffix("%")
    percent = int(digits) if digits.isascii() and digits.isdigit() else 0
    return -(-total * percent // 100) if up else total * percent // 100
