// Package kitty shows pictures on terminals that have kitty's graphics protocol with Unicode placeholders
// (https://sw.kovidgoyal.net/kitty/graphics-protocol). A picture is sent once, and drawn in rows of text by
// placeholders, which scroll and are cut as all cells are.
package kitty

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // pictures in messages
	_ "image/jpeg" // are mostly these
	"image/png"
	"math"
	"strings"
)

// ErrLarge says that a picture has more than maxPixels pixels.
var ErrLarge = errors.New("the picture is too large to be drawn in the terminal")

const (
	// maxPixels bounds the pixels of a picture that is decoded, sentPixels those that are sent.
	maxPixels, sentPixels = 16 << 20, 1 << 20
	// maxRows is how many rows a picture takes at most.
	maxRows = 16
	// chunk is how much of a picture goes in one escape sequence, by the protocol.
	chunk = 4096
	// placeholder is the character of the protocol in whose cells a picture is drawn.
	placeholder = '\U0010EEEE'
)

// rowMarks are the characters of the protocol for the numbers 0 to maxRows-1.
var rowMarks = [maxRows]rune{
	0x0305, 0x030D, 0x030E, 0x0310, 0x0312, 0x033D, 0x033E, 0x033F, 0x0346, 0x034A, 0x034B, 0x034C, 0x0350, 0x0351, 0x0352, 0x0357,
}

// Picture is a picture that was sent to a terminal. The zero value draws nothing.
type Picture struct {
	// ID is the number by which the terminal knows it.
	ID uint8
	// Cols and Rows are the cells that it takes.
	Cols, Rows int
}

// EncodePicture returns what sends a picture, a PNG, JPEG or GIF, to a terminal, and the picture there in at most width columns. It
// decodes the picture and encodes it anew, so that no byte of it reaches the terminal. The error is ErrLarge, or says
// that the picture cannot be read.
func EncodePicture(id uint8, picture []byte, width int) (Picture, string, error) {
	about, _, err := image.DecodeConfig(bytes.NewReader(picture))
	if err != nil {
		return Picture{}, "", fmt.Errorf("read the picture: %w", err)
	}
	if about.Width <= 0 || about.Height <= 0 || about.Width > maxPixels/about.Height {
		return Picture{}, "", ErrLarge
	}
	whole, _, err := image.Decode(bytes.NewReader(picture))
	if err != nil {
		return Picture{}, "", fmt.Errorf("read the picture: %w", err)
	}
	var out bytes.Buffer
	if err := png.Encode(&out, thinPixels(whole)); err != nil {
		return Picture{}, "", fmt.Errorf("encode the picture: %w", err)
	}
	p := fitCells(about.Width, about.Height, width)
	p.ID = id
	text := base64.StdEncoding.EncodeToString(out.Bytes())
	var b strings.Builder
	for head := fmt.Sprintf("a=T,U=1,q=2,f=100,i=%d,c=%d,r=%d,", id, p.Cols, p.Rows); head != ""; {
		n, more := min(chunk, len(text)), 1
		if n == len(text) {
			more = 0
		}
		fmt.Fprintf(&b, "\x1b_G%sm=%d;%s\x1b\\", head, more, text[:n])
		if text = text[n:]; more == 0 {
			break
		}
		head = "q=2,"
	}
	return p, b.String(), nil
}

// fitCells returns the cells of a picture: a cell is about twice as high as wide, and 10 pixels wide.
func fitCells(w, h, width int) Picture {
	cols := max(1, min((w+9)/10, width))
	rows := max(1, int(math.Round(float64(cols)*float64(h)/float64(w)/2)))
	if rows > maxRows {
		rows = maxRows
		cols = max(1, min(cols, int(math.Round(2*float64(rows)*float64(w)/float64(h)))))
	}
	return Picture{Cols: cols, Rows: rows}
}

// thinPixels returns a picture with some of the pixels where it has many.
func thinPixels(p image.Image) image.Image {
	size := p.Bounds().Size()
	step := int(math.Ceil(math.Sqrt(float64(size.X) * float64(size.Y) / sentPixels)))
	if step <= 1 {
		return p
	}
	out := image.NewRGBA(image.Rect(0, 0, (size.X+step-1)/step, (size.Y+step-1)/step))
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			out.Set(x, y, p.At(p.Bounds().Min.X+x*step, p.Bounds().Min.Y+y*step))
		}
	}
	return out
}

// AppendRow appends the cells of row y, from 0, with their colour, which names the picture.
func (p Picture) AppendRow(dst []byte, y int) []byte {
	dst = fmt.Appendf(dst, "\x1b[38;5;%dm%c%c%c", p.ID, placeholder, rowMarks[y], rowMarks[0])
	dst = append(dst, strings.Repeat(string(placeholder), p.Cols-1)...)
	return append(dst, "\x1b[39m"...)
}

// DeletePicture returns what has the terminal forget a picture.
func DeletePicture(id uint8) string { return fmt.Sprintf("\x1b_Ga=d,d=I,i=%d,q=2\x1b\\", id) }
