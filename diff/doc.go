// Package diff says what changed between two states: which values were added,
// removed, replaced, moved or only spelled in another way, by JSON path, and
// which words of a text. It gives data: no colour, no width, no words for
// people.
//
// [Compare] compares two JSON texts by value: formatting, the order of keys and
// the escapes in strings do not count, numbers are compared as exact decimals,
// and of duplicate keys the last one counts. Elements of arrays are matched by
// what they hold. [Result.Patch] gives the same as an RFC 6902 document, and
// [Text] compares two strings by lines and words.
//
// There are two ways to the same result. With a tape for both states, subtrees
// with equal hashes are passed over (tapes.go). Without, both texts are walked
// in step: where their bytes are the same, only one of them is read, and only
// what differs is parsed (lockstep*.go); a tape of one of the two saves most of
// that as well. Texts that only differ in white space and in the order of members are
// neither parsed nor hashed (same.go).
package diff
