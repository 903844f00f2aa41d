package chat

import "sort"

// joined is a text that is put together. What is large in it is held where it stands: a state has
// the text of a record and the record itself, and neither is copied before its bytes are asked for.
//
//	{"role":…,"content":[{"text":  "…"  }],"raw":  {…}  }
//	└ pieces[0]                    └ lent └ [2]    └ lent └ [4]
type joined struct {
	pieces [][]byte
	// ends are where the pieces end.
	ends []int
	size int
	// messages is how many of them the text has.
	messages int
}

// leastLent is the size from which bytes are held where they stand.
const leastLent = 64 << 10

// text appends texts.
func (j *joined) text(list ...string) {
	for _, text := range list {
		appendCopy(j, text)
	}
}

// bytes appends bytes, which may not be changed from then on.
func (j *joined) bytes(data []byte) {
	if len(data) < leastLent {
		appendCopy(j, data)
		return
	}
	j.pieces, j.ends = append(j.pieces, data[:len(data):len(data)]), append(j.ends, j.size)
	j.grow(len(data))
}

// join appends another text, which may not be changed from then on.
func (j *joined) join(other *joined) {
	for _, piece := range other.pieces {
		j.bytes(piece)
	}
}

// appendCopy appends a copy of a text to the last piece, or to a new one where that is lent.
func appendCopy[T string | []byte](j *joined, text T) {
	last := len(j.pieces) - 1
	if last < 0 || len(j.pieces[last]) >= leastLent {
		j.pieces, j.ends = append(j.pieces, nil), append(j.ends, j.size)
		last++
	}
	j.pieces[last] = append(j.pieces[last], text...)
	j.grow(len(text))
}

// grow notes that the last piece got n bytes more.
func (j *joined) grow(n int) {
	j.size += n
	j.ends[len(j.ends)-1] = j.size
}

// copyAt copies what stands from a place on, and returns how much that is.
func (j *joined) copyAt(dst []byte, at int) (n int) {
	for i := sort.SearchInts(j.ends, at+1); i < len(j.pieces) && n < len(dst); i++ {
		n += copy(dst[n:], j.pieces[i][at+n-(j.ends[i]-len(j.pieces[i])):])
	}
	return n
}
