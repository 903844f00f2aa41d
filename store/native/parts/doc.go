// Package parts is how a state becomes small: it is cut into its parts, the
// messages and other subtrees, and kept as a list of where the parts lie.
//
// All parts of a store lie one behind the other in streams of bytes, to which
// bytes are only ever added. A part has no row and no number of its own: a
// state is a list of [Extent], runs of places in streams, and neighbours in a
// stream are one extent however many parts they are. A conversation that grows
// by a message at a time is three extents, whatever its length, and so is one from
// whose front messages go.
package parts
