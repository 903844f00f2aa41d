package kitty

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// pngOf returns a picture of so many pixels.
func pngOf(t testing.TB, w, h int) []byte {
	t.Helper()
	p := image.NewGray(image.Rect(0, 0, w, h))
	for i := range p.Pix {
		p.Pix[i] = byte(i * 7)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sequence is an escape sequence of the protocol.
var sequence = regexp.MustCompile("\x1b_G([^;]*);([^\x1b]*)\x1b\\\\")

func TestEncodePicture(t *testing.T) {
	for _, tc := range []struct{ w, h, width, cols, rows, sent int }{
		{200, 100, 80, 20, 5, 200},
		{200, 100, 10, 10, 3, 200},
		{3, 3, 80, 1, 1, 3},
		{100, 4000, 80, 1, 16, 100},
		{4000, 100, 60, 60, 1, 4000},
		{2000, 2000, 80, 32, 16, 1000},
	} {
		p, text, err := EncodePicture(7, pngOf(t, tc.w, tc.h), tc.width)
		if err != nil || p != (Picture{7, tc.cols, tc.rows}) {
			t.Fatalf("%+v: %+v, %v", tc, p, err)
		}
		var encoded strings.Builder
		parts := sequence.FindAllStringSubmatch(text, -1)
		for i, part := range parts {
			more := strings.HasSuffix(part[1], "m=1")
			if len(part[2]) > 4096 || more != (i < len(parts)-1) || more && len(part[2])%4 != 0 {
				t.Errorf("%+v: part %d of %d is %q with %d bytes", tc, i, len(parts), part[1], len(part[2]))
			}
			encoded.WriteString(part[2])
		}
		if head := fmt.Sprintf("a=T,U=1,q=2,f=100,i=7,c=%d,r=%d,", tc.cols, tc.rows); sequence.ReplaceAllString(text, "") != "" || !strings.HasPrefix(parts[0][1], head) {
			t.Errorf("%+v: it begins with %q", tc, parts[0][1])
		}
		data, err := base64.StdEncoding.DecodeString(encoded.String())
		if err != nil {
			t.Fatal(err)
		}
		sent, err := png.Decode(bytes.NewReader(data))
		if err != nil || sent.Bounds().Dx() != tc.sent {
			t.Errorf("%+v: sent %v, %v", tc, sent.Bounds(), err)
		}
	}
}

// What is no picture, or one of more pixels than are decoded, is refused before it takes memory.
func TestEncodePicture_refuses(t *testing.T) {
	huge := pngOf(t, 2, 2)
	copy(huge[16:], []byte{0, 1, 0, 0, 0, 1, 0, 0}) // 65,536 on each side
	for name, of := range map[string][]byte{"nothing": nil, "text": []byte("\x1b[31mhello"), "cut off": pngOf(t, 50, 50)[:60], "huge": huge} {
		if p, text, err := EncodePicture(1, of, 80); err == nil || p != (Picture{}) || text != "" {
			t.Errorf("%s: %+v, %q, %v", name, p, text, err)
		}
	}
	// The sum of a changed header is checked before its numbers are, so the size is tried by itself.
	image.RegisterFormat("large", "LARGE", func(io.Reader) (image.Image, error) { return nil, errors.New("decoded") },
		func(io.Reader) (image.Config, error) {
			return image.Config{ColorModel: color.GrayModel, Width: 1 << 16, Height: 1 << 16}, nil
		})
	if _, _, err := EncodePicture(1, []byte("LARGE"), 80); !errors.Is(err, ErrLarge) {
		t.Errorf("large: %v", err)
	}
}

// Each row takes as many cells as the picture has columns.
func TestPicture_rowsFit(t *testing.T) {
	p := Picture{ID: 200, Cols: 13, Rows: maxRows}
	met := map[string]bool{}
	for y := range p.Rows {
		row := string(p.AppendRow(nil, y))
		if w := ansi.StringWidth(row); w != p.Cols || met[row] {
			t.Errorf("row %d has %d cells: %q", y, w, row)
		}
		met[row] = true
	}
}
