package query

import (
	"bytes"
	"testing"

	"hindcast/store/storetest/skip"
)

// Of a long text the bytes of each piece are those that were appended, also for who read before more was appended,
// and no piece goes on in another page, whether pages are packed or not.
func TestPages_areWhatWasAppended(t *testing.T) {
	skip.Sequential(t)
	t.Run("loose", func(t *testing.T) { testPages(t, pages{}) })
	t.Run("packed", func(t *testing.T) { testPages(t, pages{packer: newPacker()}) })
}

// A text holds a few pages loose, and all others packed, also after each was read again.
func TestPages_packOldPages(t *testing.T) {
	skip.Sequential(t)
	text := pages{packer: newPacker()}
	for text.held < 20<<pageBits {
		text.add(bytes.Repeat([]byte("words of a text "), 1000))
	}
	for range 2 {
		loose, packed := 0, 0
		for _, p := range text.list {
			if p.raw.Load() != nil {
				loose++
			}
			packed += len(p.packed)
		}
		if loose > mostLoose+1 || packed > int(text.held)/10 {
			t.Errorf("%d pages are loose, and %d bytes packed", loose, packed)
		}
		for range text.from(0) {
		}
	}
}

func testPages(t *testing.T, text pages) {
	var pieces []piece
	want := func(i int) []byte { return bytes.Repeat([]byte{byte(i), byte(i >> 8)}, 1+i*97%30000) }
	for text.held < 8<<pageBits {
		before, i := text, len(pieces)
		pieces = append(pieces, text.add(want(i)[:1], want(i)[1:]))
		if i > 0 && !bytes.Equal(before.of(pieces[i-1]), want(i-1)) {
			t.Fatalf("what was read before has changed at piece %d", i-1)
		}
	}
	for i, p := range pieces {
		if !bytes.Equal(text.of(p), want(i)) || text.at(p.end()-1) != byte(i>>8) {
			t.Fatalf("piece %d is not what was appended", i)
		}
	}
	whole, n := 0, 0
	for off, part := range text.from(pieces[7].off) {
		if n++; n == 1 && off != pieces[7].off {
			t.Errorf("it begins at %d", off)
		}
		whole += len(part)
	}
	if left := length(pieces[7:]); whole != int(left) || n < int(text.held)>>pageBits {
		t.Errorf("%d bytes of %d in %d pages", whole, left, n)
	}
	var large piece
	for _, size := range []int{3<<pageBits - 4, 3<<pageBits - 3, 5} {
		large = text.add(make([]byte, size), []byte("end"))
		if got := text.of(large); len(got) != size+3 || string(got[size:]) != "end" {
			t.Errorf("a part of %d bytes is %d", size+3, len(got))
		}
	}
	if list := appendPiece([]piece{large}, text.add(make([]byte, 1<<pageBits-1))); len(list) != 2 {
		t.Error("a piece goes on in another page")
	}
}
