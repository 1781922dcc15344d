package files

import "golang.org/x/sys/unix"

// O_PATH needs no permission to list the folders on the way.
const folderFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
