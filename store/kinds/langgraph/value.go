package langgraph

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"hindcast/model/jsontape"
	"hindcast/store/encoding/msgpack"
	"hindcast/store/encoding/pickle"
)

// decodeValue returns a stored value as JSON. One that would have to be decrypted is the bytes that
// it is, and so is a pickle that cannot be read, with why.
func decodeValue(encoding string, value []byte) ([]byte, error) {
	switch {
	case encoding == "msgpack":
		return msgpack.AppendJSON(nil, value, writeExtension)
	case encoding == "null":
		return []byte("null"), nil
	case encoding == "pickle":
		shown, err := pickle.AppendJSON(nil, value)
		if err != nil {
			return sealValue(encoding, value, `,"$error":`+quoteJSON("the pickle cannot be read: "+err.Error())), nil
		}
		return shown, nil
	case opaqueEncoding(encoding) != "":
		return sealValue(encoding, value, ""), nil
	case encoding == "bytes", encoding == "bytearray":
		return []byte(`{"$bytes":"` + base64.StdEncoding.EncodeToString(value) + `"}`), nil
	}
	shown, err := jsontape.Standard(value)
	if err != nil {
		return nil, fmt.Errorf("the value is not JSON: %w", err)
	}
	return shown, nil
}

// sealValue returns a value as the bytes that it is, and more members.
func sealValue(encoding string, value []byte, more string) []byte {
	return []byte(`{"$type":` + quoteJSON(encoding) + `,"$bytes":"` + base64.StdEncoding.EncodeToString(value) + `"` + more + "}")
}

// opaqueEncoding returns an encoding whose values are not read, "" for another: what is encrypted, as
// "msgpack+aes".
func opaqueEncoding(encoding string) string {
	switch encoding {
	case "msgpack", "json", "pickle", "null", "bytes", "bytearray":
		return ""
	}
	return encoding
}

func quoteJSON(text string) string { return string(jsontape.AppendQuoted(nil, text)) }

// writeExtension writes a value of LangGraph's extensions. Each names a Python function and its
// arguments:
//
//	0 … 5   [module, name, argument, …]      {"$py":"module.name","value":argument}, or with the members of an argument that is a map
//	6       [dtype, shape, order, buffer]    {"$numpy":dtype,"value":[shape,order,buffer]}
//	7       value                            {"$delta":value}
func writeExtension(w *msgpack.Writer, id int8) (ok bool, err error) {
	if id == 7 {
		return true, w.Between(`{"$delta":`, "}", w.Value)
	}
	n, _ := w.Array()
	module, named := w.Text()
	if id < 0 || id > 6 || !named || n < 3 {
		return false, nil
	}
	if id == 6 {
		return true, w.Between(`{"$numpy":`+quoteJSON(module)+`,"value":[`, "]}", func() error { return w.Values(n - 1) })
	}
	class, _ := w.Text()
	err = w.Between(`{"$py":`+quoteJSON(module+"."+class), "}", func() error {
		if members, ok := w.Map(); ok {
			if members > 0 {
				w.Literal(",")
			}
			return w.Members(members)
		}
		w.Literal(`,"value":`)
		return w.Value()
	})
	return true, errors.Join(err, w.Skip(n-3))
}

// Decode implements rows.Decoder. What a row says of its task is LangGraph's own.
func (format) Decode(column string, row map[string]any) []byte {
	value, _ := row[column].(string)
	switch column {
	case "checkpoint", "value", "blob":
		if encoding, is := row["type"].(string); is {
			shown, _ := decodeValue(encoding, columnBytes(value)) // damage is told elsewhere
			return shown
		}
	case "task_path", "metadata":
		return nil
	}
	return []byte(value)
}

// columnBytes returns the bytes of a column, which PostgreSQL writes as digits.
func columnBytes(value string) []byte {
	if digits, is := strings.CutPrefix(value, `\x`); is {
		if data, err := hex.DecodeString(digits); err == nil {
			return data
		}
	}
	return []byte(value)
}
