package conversation

import (
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
