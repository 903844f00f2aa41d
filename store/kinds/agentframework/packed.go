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

// unpackFile converts a file in MessagePack to the JSON that the SDK would write, and returns the extension of
// such a file. It returns any other file unchanged. A session is one map. In a history, the length of each
// message stands before it in four bytes; their first byte is at most 4, which no map begins with. An
// unreadable message becomes a last line that is no JSON. Errors come from package msgpack.
func unpackFile(name string, data []byte) (extension string, text []byte, err error) {
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
