package model

// Gathered is headers that come one at a time. They are kept in chunks and copied once,
// since a slice that grows leaves several times its size behind. Its zero value has none.
type Gathered struct {
	chunks [][]Header
	n      int
}

// gatherChunk is how many headers a chunk holds. The first one grows, so that a short
// session takes no more than it needs.
const gatherChunk = 4096

// Add adds a header behind the others.
func (g *Gathered) Add(h *Header) {
	last := len(g.chunks) - 1
	if last < 0 || len(g.chunks[last]) == gatherChunk {
		var chunk []Header
		if last++; last > 0 {
			chunk = make([]Header, 0, gatherChunk)
		}
		g.chunks = append(g.chunks, chunk)
	}
	g.chunks[last] = append(g.chunks[last], *h)
	g.n++
}

// Len returns how many headers were added.
func (g *Gathered) Len() int { return g.n }

// Join returns the headers in one slice, with room for so many more, and nil for none.
// What was gathered is let go of.
func (g *Gathered) Join(spare int) []Header {
	chunks, n := g.chunks, g.n
	*g = Gathered{}
	switch {
	case n == 0:
		return nil
	case len(chunks) == 1 && cap(chunks[0])-n >= spare:
		return chunks[0]
	}
	headers := make([]Header, 0, n+spare)
	for i, c := range chunks {
		headers = append(headers, c...)
		chunks[i] = nil
	}
	return headers
}
