package needle

// everyByte times a byte is eight of it.
const everyByte = 0x0101010101010101

// indexPair returns the first offset at which two texts of one length have the bytes of a pair, -1 without one.
func (p *pair) indexPair(text, beside []byte) int {
	whole := len(text) &^ 31
	if whole > 0 {
		at := indexBlocks(&text[0], &beside[0], whole, uint64(p.lower)*everyByte, uint64(p.lower^p.upper)*everyByte,
			uint64(p.lowerBeside)*everyByte, uint64(p.lowerBeside^p.upperBeside)*everyByte)
		if at < whole {
			return at
		}
	}
	if at := p.indexEach(text[whole:], beside[whole:]); at >= 0 {
		return whole + at
	}
	return -1
}

// indexBlocks returns the first offset at which two texts of n bytes have the bytes of a pair, n without one. n is a multiple of
// 32. Each byte is given eight times, and fold has the bits in which its capital letter differs.
//
//go:noescape
func indexBlocks(text, beside *byte, n int, lower, fold, lowerBeside, foldBeside uint64) int
