package tree

import (
	"context"

	"hindcast/store"
	"hindcast/store/media/disk"
)

// Source is an opened store that is no folder of this machine, such as a prefix of a bucket, or
// a file in it: the root of its tree is then a file.
type Source interface {
	// Name returns its address, for people.
	Name() string
	// Tree returns the tree to read, and Disk the disk to write through.
	Tree() Remote
	Disk() disk.Disk
	// Watch returns a value soon after something in it changed, as [store.Features].Watch does.
	Watch(ctx context.Context) (<-chan struct{}, error)
	// Requests returns how many requests were made of its server.
	Requests() store.Requests
	// At returns a folder of it, or one that is some folders above, to which ".." leads. All
	// are closed with one. It reports false if the server does not have it.
	At(way string) (Source, bool)
	// Folder returns the folder of this machine in which programs find it, "" if there is none.
	Folder() string
	// Server returns how programs name it: the bucket, the prefix in it, and the URL of its
	// server where that was given, "" else.
	Server() (bucket, prefix, endpoint string)
	// Copying returns the command that copies what was opened to the folder of work.
	Copying() string
	// Close lets go of it.
	Close() error
}
