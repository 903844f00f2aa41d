package agentframework

import (
	"encoding/binary"
	"path"

	"hindcast/store/encoding/msgpack"
)

// packed is the extension of files that FileHistoryProvider and FileSessionStore write with
// serialization_format="msgpack".
const packed = ".msgpack"

// mostRecord bounds a message of a history in MessagePack, in bytes, as the SDK does.
const mostRecord = 64 << 20

// plain returns a file in MessagePack as the file that the SDK writes in JSON, with the extension of such a one,
// and any other file as it is. A session is one map. In a history there is the length of each message
// before it, in four bytes: the first of them is 4 at most, and that of a map is not. A message that cannot be
// read stands there as a line that is no JSON, and is the last. The errors are those of package msgpack.
func plain(name string, data []byte) (extension string, text []byte, err error) {
	if path.Ext(name) != packed {
		return path.Ext(name), data, nil
	}
	if len(data) > 0 && data[0] > mostRecord>>24 {
		text, err = msgpack.AppendJSON(nil, data, nil)
		return ".json", text, err
	}
	for len(data) > 0 {
		var size uint32
		if len(data) >= 4 {
			size, data = binary.BigEndian.Uint32(data), data[4:]
		}
		end := len(text)
		if size > 0 && size <= mostRecord && int(size) <= len(data) {
			text, err = msgpack.AppendJSON(text, data[:size], nil)
		}
		if len(text) == end || err != nil {
			return ".jsonl", append(text[:end], "no MessagePack"...), nil
		}
		text, data = append(text, '\n'), data[size:]
	}
	return ".jsonl", text, nil
}
