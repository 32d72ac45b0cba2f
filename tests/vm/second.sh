# The second machine: becomes a node by the line that the first one leaves in the shared directory.
for module in nfs iscsi_tcp sd_mod ext4; do modprobe $module; done
mkdir -p /run/lock/iscsi /etc/iscsi
echo InitiatorName=iqn.2026-11.com.example:second > /etc/iscsi/initiatorname.iscsi
iscsid
touch /run/shared/second-is-up
until [ -s /run/shared/join ]; do sleep 1; done
. /run/shared/join > /run/shared/second.log 2>&1
