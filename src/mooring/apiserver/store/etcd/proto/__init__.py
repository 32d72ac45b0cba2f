"""The part of etcd's API that the engine speaks; compiled by `make proto`."""
