"""The health monitor: what a driver's controller says of its volumes, told on their claims.

A driver of CSI 1.13 is asked by the health RPCs, and `status.healthStatus` of the claim shows the
answer; of a driver up to 1.12 the VolumeCondition is told as events, as external-health-monitor
does. Start at `decide`.
"""
