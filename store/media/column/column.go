// Package column is a value of a column, whatever database it was read from.
package column

// Kind is what a Value is.
type Kind uint8

// The kinds of values.
const (
	Null Kind = iota
	Integer
	Float
	Text
	Blob
)

// Value is the value of a column.
type Value struct {
	Kind Kind
	// Int is that of an Integer, Text that of a Text.
	Int  int64
	Text string
}

// Of returns a value as a driver has it.
func Of(v any) Value {
	switch v := v.(type) {
	case nil:
		return Value{}
	case int64:
		return Value{Kind: Integer, Int: v}
	case string:
		return Value{Kind: Text, Text: v}
	case float64:
		return Value{Kind: Float}
	}
	return Value{Kind: Blob}
}
