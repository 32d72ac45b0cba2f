"""What the first machine says on its console to have something done outside of it."""

START_SECOND = "please start the second machine"
KILL_SECOND = "please cut the power of the second machine"
BRING_LVM_LOCALPV = "please bring LVM-LocalPV"
