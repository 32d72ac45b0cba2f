"""The third engine: etcd, shared by several API servers."""
