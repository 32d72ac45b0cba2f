# Somebody else's CSI driver on `mooring up`, which has its data in ./data: start the driver, offer
# it to the node, make a class of it. A driver's own node-driver-registrar serves as well as ours.
mkdir -p data/node/plugins/csi-hostpath
hostpathplugin --nodeid="$(hostname)" --endpoint="unix://$PWD/data/node/plugins/csi-hostpath/csi.sock" --statedir=/var/lib/csi-hostpath &
mooring sidecar registrar --csi-address="$PWD/data/node/plugins/csi-hostpath/csi.sock" --plugin-registration-path=data/node/plugins_registry &
kubectl apply -f examples/csi/third-party-class.yaml
