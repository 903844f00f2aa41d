//go:build !amd64

package needle

// indexPair returns the first offset at which two texts of one length have the bytes of a pair, -1 without one.
func (p *pair) indexPair(text, beside []byte) int { return p.indexEach(text, beside) }
