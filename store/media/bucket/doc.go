// Package bucket opens sessions that lie in a bucket of S3, or of a server that speaks as S3
// does: s3://bucket/prefix. A bucket is a tree of files (tree.Tree) and a disk for the
// journal (disk.Turner), so that each format that reads a tree opens what was written there,
// or copied there, without knowing.
//
//	client.go   requests: signed, bounded in time, tried again, counted
//	errors.go   what a refusal means, and what to do
//	listing.go  all names below a prefix with their ETags, by few requests
//	tree.go     the listing as a tree; bytes by GET, many at once, remembered by ETag
//	disk.go     what the journal writes through: one conditional request a change
//	claim.go    the object that holds off another Hindcast
//	kind.go     addresses, and which format opens what is listed
//
// Reading asks for the names once, and then for what has to be read. What was made of a file
// is remembered by its ETag beyond the process. A listing counts as it is for a moment, and
// until the next look where it is followed.
//
// Writing is that of package journal, which lies below the prefix too, at .hindcast: each name
// changes by one request, which the server refuses with 412 where the name is no longer as it
// was seen. A new name is put with If-None-Match: *, one that is replaced with If-Match and
// the ETag that was seen, and one that goes is copied to .hindcast/kept and then deleted with
// If-Match. A server that does not know these conditions is not written to.
package bucket
