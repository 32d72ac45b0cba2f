"""Where the directories of hostPath claims are, below the directory of volumes."""

FOLDER = "hostpath_pv"
