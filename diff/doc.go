// Package diff finds the changes between two states: the values that were added,
// removed, replaced, moved or only spelled in another way, by JSON path, and
// the changed words of a text. It returns data: no colour, no width, no words for
// people.
//
// [Compare] compares two JSON texts by value: formatting, the order of keys and
// the escapes in strings do not count, numbers are compared as exact decimals,
// and of duplicate keys the last one counts. Elements of arrays are matched by
// content. [Result.Patch] returns the changes as an RFC 6902 document, and
// [Text] compares two strings by lines and words.
//
// States without a tape are parsed, both at once; subtrees with equal hashes are
// skipped (tapes.go). Texts that differ only in white space and in the order of
// members are neither parsed nor hashed (same.go).
package diff
