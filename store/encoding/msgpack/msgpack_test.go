package msgpack_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"hindcast/store/encoding/msgpack"
	"hindcast/store/storetest/skip"
)

// what MessagePack's specification has, each with the JSON that it becomes.
var values = []struct{ data, json string }{
	{"\xc0", `null`}, {"\xc2", `false`}, {"\xc3", `true`},
	{"\x00", `0`}, {"\x7f", `127`}, {"\xe0", `-32`}, {"\xff", `-1`},
	{"\xcc\xff", `255`}, {"\xcd\x01\x00", `256`}, {"\xce\xff\xff\xff\xff", `4294967295`}, {"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", `18446744073709551615`},
	{"\xd0\x80", `-128`}, {"\xd1\x80\x00", `-32768`}, {"\xd2\x80\x00\x00\x00", `-2147483648`}, {"\xd3\x80\x00\x00\x00\x00\x00\x00\x00", `-9223372036854775808`},
	{"\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00", `1.5`}, {"\xcb\x40\x00\x00\x00\x00\x00\x00\x00", `2.0`}, {"\xca\x3f\x80\x00\x00", `1.0`}, {"\xca\x3d\xcc\xcc\xcd", `0.1`},
	{"\xcb\x7f\xf8\x00\x00\x00\x00\x00\x01", `{"$float":"NaN"}`}, {"\xcb\xff\xf0\x00\x00\x00\x00\x00\x00", `{"$float":"-Inf"}`},
	{"\xa0", `""`}, {"\xa3a\"\n", `"a\"\n"`}, {"\xd9\x01a", `"a"`}, {"\xda\x00\x01b", `"b"`}, {"\xdb\x00\x00\x00\x01c", `"c"`}, {"\xa1\xff", `"\ufffd"`},
	{"\xc4\x02\x00\xff", `{"$bytes":"AP8="}`}, {"\xc5\x00\x00", `{"$bytes":""}`}, {"\xc6\x00\x00\x00\x01a", `{"$bytes":"YQ=="}`},
	{"\x90", `[]`}, {"\x92\x01\xc0", `[1,null]`}, {"\xdc\x00\x01\x01", `[1]`}, {"\xdd\x00\x00\x00\x01\x02", `[2]`},
	{"\x80", `{}`}, {"\x82\xa1z\x01\xa1a\x02", `{"z":1,"a":2}`}, {"\xde\x00\x01\xa1k\xc3", `{"k":true}`}, {"\xdf\x00\x00\x00\x01\xa1k\xc3", `{"k":true}`},
	{"\x84\x01\xa1a\xc0\xa1b\x92\x01\x02\xa1c\xc3\xa1d", `{"1":"a","null":"b","[1,2]":"c","true":"d"}`},
	{"\xd4\x05a", `{"$ext":5,"$bytes":"YQ=="}`}, {"\xd6\xff\x00\x00\x00\x01", `{"$ext":-1,"$bytes":"AAAAAQ=="}`}, {"\xc7\x00\x07", `{"$ext":7,"$bytes":""}`}, {"\xc8\x00\x01\x07a", `{"$ext":7,"$bytes":"YQ=="}`}, {"\xc9\x00\x00\x00\x01\x07a", `{"$ext":7,"$bytes":"YQ=="}`},
	{"\xd5\x01\x91\x05", `["one",5]`}, {"\xd5\x01\x91\xc1", `{"$ext":1,"$bytes":"kcE="}`}, {"\xc7\x03\x01\x91\x05\x06", `{"$ext":1,"$bytes":"kQUG"}`},
	{"\x92\xd5\x01\x91\xd9\x07", `[{"$ext":1,"$bytes":"kdk="},7]`},
}

// one knows extension 1, an array of one value.
func one(w *msgpack.Writer, id int8) (ok bool, err error) {
	if n, _ := w.Array(); id != 1 || n != 1 {
		return false, nil
	}
	return true, w.Between(`["one",`, "]", w.Value)
}

func TestAppendJSON(t *testing.T) {
	for _, c := range values {
		got, err := msgpack.AppendJSON([]byte("before "), []byte(c.data), one)
		if c.json == "" {
			if err == nil {
				t.Errorf("% x: %s, want an error", c.data, got)
			}
			continue
		}
		if want := "before " + c.json; err != nil || string(got) != want {
			t.Errorf("% x: %s, %v, want %s", c.data, got, err, want)
		}
		if !json.Valid(got[len("before "):]) {
			t.Errorf("% x: %s is not JSON", c.data, got)
		}
	}
}

// Data that is cut off anywhere is an error, and so is data with something behind it.
func TestAppendJSON_cut(t *testing.T) {
	for _, c := range values {
		for n := range len(c.data) {
			if got, err := msgpack.AppendJSON(nil, []byte(c.data[:n]), one); err == nil {
				t.Errorf("% x of % x: %s", c.data[:n], c.data, got)
			}
		}
		if got, err := msgpack.AppendJSON(nil, []byte(c.data+"\xc0"), one); err == nil {
			t.Errorf("% x and null: %s", c.data, got)
		}
	}
}

// No length that the data claims is believed, and no depth.
func TestAppendJSON_bounds(t *testing.T) {
	skip.Counting(t)
	keys := strings.Repeat("\x81", 100) + "\xa1\"" + strings.Repeat("\x01", 100) // each a key of the one around it
	for name, c := range map[string]struct {
		data string
		want error
	}{
		"a long string":      {"\xdb\xff\xff\xff\xffa", msgpack.ErrShort},
		"a long array":       {"\xdd\xff\xff\xff\xff\x01", msgpack.ErrShort},
		"a long map":         {"\xdf\xff\xff\xff\xff\x01\x01", msgpack.ErrShort},
		"a long extension":   {"\xc9\xff\xff\xff\xff\x01a", msgpack.ErrShort},
		"a deep array":       {strings.Repeat("\x91", 10_000) + "\x01", msgpack.ErrDepth},
		"a key of a key":     {keys, msgpack.ErrLarge},
		"no code":            {"\xc1", msgpack.ErrCode},
		"something behind":   {"\x01\x01", msgpack.ErrRest},
		"nothing":            {"", msgpack.ErrShort},
		"damage over damage": {vain(3000), msgpack.ErrRest},
	} {
		allocated := testing.AllocsPerRun(1, func() {
			if got, err := msgpack.AppendJSON(nil, []byte(c.data), one); !errors.Is(err, c.want) {
				t.Errorf("%s: %.80s, %v, want %v", name, got, err, c.want)
			}
		})
		if allocated > 50_000 {
			t.Errorf("%s: %v allocations", name, allocated)
		}
	}
}

// As deep as the reader goes extensions are read, and what is deeper is its bytes.
func TestAppendJSON_deepExtensions(t *testing.T) {
	for n, want := range map[int]string{900: `["one",1]`, 5000: `{"$ext":1,"$bytes":"`} {
		got, err := msgpack.AppendJSON(nil, []byte(deep(n)), one)
		if err != nil || !json.Valid(got) || !strings.Contains(string(got), want) {
			t.Errorf("%d: %.80s, %v", n, got, err)
		}
	}
}

// vain returns nested extensions. Each is damaged behind the one within it.
func vain(n int) string {
	data := "\xc1"
	for range n {
		inner := "\x91" + data + "\xc1"
		data = "\xc8" + string([]byte{byte(len(inner) >> 8), byte(len(inner))}) + "\x01" + inner
	}
	return data
}

// deep nests extensions, each in the array of the one around it.
func deep(n int) string {
	data := "\x01"
	for range n {
		inner := "\x91" + data
		data = "\xc8" + string([]byte{byte(len(inner) >> 8), byte(len(inner))}) + "\x01" + inner
	}
	return data
}

func FuzzAppendJSON(f *testing.F) {
	for _, c := range values {
		f.Add([]byte(c.data))
	}
	f.Add([]byte(deep(20)))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := msgpack.AppendJSON(nil, data, one)
		if err != nil {
			return
		}
		if !json.Valid(got) {
			t.Fatalf("% x: %s is not JSON", data, got)
		}
		if len(got) > 1000*(len(data)+1) {
			t.Fatalf("% x: %d bytes", data, len(got))
		}
		again, err := msgpack.AppendJSON(nil, data, one)
		if err != nil || !bytes.Equal(got, again) {
			t.Fatalf("% x: %s, and then %s, %v", data, got, again, err)
		}
	})
}
