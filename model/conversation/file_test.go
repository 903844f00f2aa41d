package conversation

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"

	"hindcast/model/jsontape"
)

// A file is told by its type, its size in pixels and in bytes, in the shape of every framework, and
// never by its bytes.
func TestLabel_ofFiles(t *testing.T) {
	const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	const picture, url = "image/png 1×1, 70 B", "data:image/png;base64," + png
	for block, want := range map[string]string{
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + png + `"}}`:          picture,
		`{"json":{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + png + `"}}}`: picture,
		`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"` + png + `"}}`: "application/pdf, 70 B",
		`{"type":"image","source":{"type":"url","url":"https://a.example/b.png"}}`:                           "image https://a.example/b.png",
		`{"type":"input_image","image_url":"` + url + `"}`:                                                   picture,
		`{"type":"input_image","image_url":"` + strings.ReplaceAll(url, "/", `\/`) + `"}`:                    picture,
		`{"type":"input_image","image_url":"https://a.example/b.png"}`:                                       "image https://a.example/b.png",
		`{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,AAAA"}`:            "application/pdf, 3 B",
		`{"type":"image_url","image_url":{"url":"` + url + `"}}`:                                             picture,
		`{"image_url":{"url":"` + url + `"}}`:                                                                picture,
		`{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}`:                                "audio wav 3 B",
		`{"inlineData":{"mimeType":"image/png","data":"` + png + `"}}`:                                       picture,
		`{"inline_data":{"mime_type":"image/png","data":"` + png + `"}}`:                                     picture,
		`{"json":{"inlineData":{"mimeType":"audio/wav","data":"AAAA"}}}`:                                     "audio/wav, 3 B",
		`{"type":"image","source_type":"base64","data":"` + png + `","mime_type":"image/png"}`:               picture,
		`{"type":"image","base64":"` + png + `","mime_type":"image/png"}`:                                    picture,
		`{"type":"image","data":"` + png + `","mimeType":"image/png"}`:                                       picture,
		`{"type":"data","uri":"` + url + `","media_type":"image/png"}`:                                       picture,
		`{"type":"file","mime":"image/png","filename":"a.png","url":"` + url + `"}`:                          picture,
		`{"type":"file","data":"AAAA","mediaType":"application/pdf"}`:                                        "application/pdf, 3 B",
		`{"type":"image","image":"` + png + `","mediaType":"image/png"}`:                                     picture,
		`{"media":{"contentType":"image/png","url":"` + url + `"}}`:                                          picture,
		`{"image":{"format":"png","source":{"bytes":"` + png + `"}}}`:                                        "image png 70 B",
		`{"type":"resource","resource":{"uri":"file:///a.bin","mimeType":"application/x-a","blob":"AAAA"}}`:  "application/x-a, 3 B",
		`{"type":"image","source":{"type":"base64","media_type":"image/webp","data":"AAAA"}}`:                "image/webp, 3 B",
	} {
		tape, err := jsontape.Parse([]byte(`{"messages":[{"role":"user","content":[` + block + `]}]}`))
		if err != nil {
			t.Fatal(block, err)
		}
		c := Decode(tape)
		if c == nil || c.Len() != 1 || len(c.Blocks(0)) != 1 {
			t.Errorf("%s is no message of one block", block)
			continue
		}
		if got := c.Label(c.Block(c.FirstBlock(0))); got != want {
			t.Errorf("%.80s: %q, want %q", block, got, want)
		}
	}
}

// Python's SDK of Gemini writes base64 as it stands in URLs.
func TestLabel_ofBase64InURLs(t *testing.T) {
	for width := range 64 {
		var data bytes.Buffer
		if err := png.Encode(&data, image.NewGray(image.Rect(0, 0, width+1, 1))); err != nil {
			t.Fatal(err)
		}
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			got := FileLabel([]byte(`{"inline_data":{"mime_type":"image/png","data":"` + encoding.EncodeToString(data.Bytes()) + `"}}`))
			if want := fmt.Sprintf("image/png %d×1, %d B", width+1, data.Len()); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	}
}

// A file inside a block of JSON is a block by itself, which answers no call.
func TestDecode_aFileOfJSON(t *testing.T) {
	for _, file := range []string{`{"inlineData":{"mimeType":"image/png","data":"AAAA"}}`, `{"type":"image","data":"AAAA"}`} {
		c := recordOf(t, `[{"role":"user","content":[{"json":`+file+`}]}]`)
		if b := c.Block(0); b.ID >= 0 || b.Pair >= 0 || string(c.tape.Raw(b.Node)) != file {
			t.Errorf("%s: %+v", file, b)
		}
	}
}

// A block that is no file has no label of one.
func TestFileLabel_ofOthers(t *testing.T) {
	for _, block := range []string{`{"type":"text","text":"x"}`, `{"type":"sparkle","url":"x"}`, `{"type":"image"}`, `{"type":"image","source":{}}`, `{"inlineData":7}`, `{"inlineData":{}}`, `{`, `7`, `["x"]`} {
		if got := FileLabel([]byte(block)); got != "" {
			t.Errorf("%s is %q", block, got)
		}
	}
}

// A picture is known by its bytes, and the size of a WebP by its head.
func TestPicture(t *testing.T) {
	head := func(chunk string, size ...byte) string {
		return "RIFF\x00\x00\x00\x00WEBP" + chunk + "\x00\x00\x00\x00" + string(append(size, make([]byte, 20)...))
	}
	for name, of := range map[string]struct{ data, format, label string }{
		"extended": {head("VP8X", 0, 0, 0, 0, 99, 1, 0, 49), "webp", " 356×50,"},
		"lossy":    {head("VP8 ", 0, 0, 0, 0x9d, 1, 0x2a, 100, 0, 50, 0), "webp", " 100×50,"},
		"lossless": {head("VP8L", 0x2f, 99, 0x40, 12, 0), "webp", " 100×50,"},
		"a page":   {"<html>", "", ", 6 B"},
		"short":    {"RIFF", "", ", 4 B"},
	} {
		tape, err := jsontape.Parse([]byte(`{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/webp","data":"` + base64.StdEncoding.EncodeToString([]byte(of.data)) + `"}}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		c := Decode(tape)
		format, picture := c.Picture(c.Block(0))
		if format != of.format || format != "" && string(picture) != of.data || !strings.Contains(c.Label(c.Block(0)), of.label) {
			t.Errorf("%s: format %q, label %q", name, format, c.Label(c.Block(0)))
		}
	}
}
