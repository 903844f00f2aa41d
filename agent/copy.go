package agent

import (
	"encoding"
	"encoding/json"
	"reflect"
	"sync"
	"time"
)

// How a state is copied. A round trip through JSON would do, but takes longer
// than all the rest of a capture, and changes what is in an interface: an int
// comes back as a float64.
//
// What encoding/json can see and set is copied: exported fields without the tag
// "-", elements, and whatever an interface or a pointer leads to. The rest of a
// struct, which is no part of the state that is saved, is shared with the
// original. A struct that writes its own JSON may write what reflection may not
// touch, as a big.Int does; if there are references among that, the struct is
// copied through its own JSON, provided that it can also read it.
//
// A value to be copied must have been marshalled before. It has no circles then
// but such as a type leaves out that writes its own JSON, a tree whose nodes
// know their parents for instance. What is as deep as only a circle is gets
// copied through the JSON of the whole, as it would be loaded.

// maxDepth is how far a copy goes down. JSON that is nested as deeply cannot be
// read.
const maxDepth = 10000

// deepCopy returns a copy of v, which text is the JSON of. The error is that of
// reading a text that has to be.
func deepCopy[T any](v T, text []byte) (T, error) {
	own := v
	var c copier
	if c.detachReferences(reflect.ValueOf(&own).Elem()); !c.tooDeep {
		return own, nil
	}
	var read T
	err := json.Unmarshal(text, &read)
	return read, err
}

// copier makes one copy.
type copier struct {
	depth   int
	tooDeep bool // the copy is none
}

// shape says how the values of a type are copied.
type shape struct {
	// leaf: assigning copies it whole.
	leaf bool
	// codec: its own JSON copies it.
	codec bool
	// fields are the indexes of a struct's fields that are not leaves.
	fields []int
}

var (
	shapes sync.Map // of reflect.Type to shape

	timeType        = reflect.TypeFor[time.Time]()
	marshalerType   = reflect.TypeFor[json.Marshaler]()
	unmarshalerType = reflect.TypeFor[json.Unmarshaler]()
	textWriterType  = reflect.TypeFor[encoding.TextMarshaler]()
	textReaderType  = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func shapeOf(t reflect.Type) shape {
	if known, ok := shapes.Load(t); ok {
		return known.(shape)
	}
	var s shape
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
	case reflect.Array:
		s.leaf = t.Len() == 0 || shapeOf(t.Elem()).leaf
	case reflect.Struct:
		s = shapeOfStruct(t)
	default:
		s.leaf = true
	}
	shapes.Store(t, s)
	return s
}

func shapeOfStruct(t reflect.Type) shape {
	if t == timeType {
		return shape{leaf: true} // it leads to its zone, which never changes
	}
	var s shape
	hidden := false
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case shapeOf(f.Type).leaf:
		case f.Tag.Get("json") == "-", !f.IsExported() && !promotesFields(f):
			hidden = true
		default:
			s.fields = append(s.fields, i)
		}
	}
	if hidden && writesItself(t) {
		return shape{codec: true}
	}
	s.leaf = len(s.fields) == 0
	return s
}

// promotesFields says that a field is not exported but the fields in it may be. One
// that its own JSON copies is out of the reach of reflection.
func promotesFields(f reflect.StructField) bool {
	return f.Anonymous && f.Type.Kind() == reflect.Struct && !shapeOf(f.Type).codec
}

// writesItself says that a type has its own JSON, and reads it too.
func writesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(marshalerType) && p.Implements(unmarshalerType) ||
		p.Implements(textWriterType) && p.Implements(textReaderType)
}

// detachReferences makes the references in v, which can be set and has been assigned
// from another value, lead to copies.
func (c *copier) detachReferences(v reflect.Value) {
	s := shapeOf(v.Type())
	c.tooDeep = c.tooDeep || c.depth > maxDepth
	if s.leaf || c.tooDeep {
		return
	}
	if s.codec {
		recodeJSON(v)
		return
	}
	c.depth++
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			own := reflect.New(v.Type().Elem())
			own.Elem().Set(v.Elem())
			c.detachReferences(own.Elem())
			v.Set(own)
		}
	case reflect.Interface:
		if !v.IsNil() && !shapeOf(v.Elem().Type()).leaf {
			v.Set(c.detachedCopy(v.Elem()))
		}
	case reflect.Slice:
		if !v.IsNil() {
			own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(own, v)
			c.detachElements(own)
			v.Set(own)
		}
	case reflect.Array:
		c.detachElements(v)
	case reflect.Map:
		if !v.IsNil() {
			v.Set(c.detachedMap(v))
		}
	case reflect.Struct:
		for _, i := range s.fields {
			c.detachReferences(v.Field(i))
		}
	}
	c.depth--
}

// detachedCopy returns a copy of a value that cannot be set.
func (c *copier) detachedCopy(v reflect.Value) reflect.Value {
	own := reflect.New(v.Type()).Elem()
	own.Set(v)
	c.detachReferences(own)
	return own
}

func (c *copier) detachElements(v reflect.Value) {
	if shapeOf(v.Type().Elem()).leaf {
		return
	}
	for i := range v.Len() {
		c.detachReferences(v.Index(i))
	}
}

// detachedMap returns a copy of a map. Keys that JSON can write have no
// references in them that anybody could change.
func (c *copier) detachedMap(v reflect.Value) reflect.Value {
	own := reflect.MakeMapWithSize(v.Type(), v.Len())
	key, element := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
	for entries := v.MapRange(); entries.Next(); {
		key.SetIterKey(entries)
		element.SetIterValue(entries)
		c.detachReferences(element)
		own.SetMapIndex(key, element)
	}
	return own
}

// recodeJSON copies a struct through its own JSON. Where that fails, as it would
// when the session is loaded, the struct stays shared.
func recodeJSON(v reflect.Value) {
	text, err := json.Marshal(v.Addr().Interface())
	if err != nil {
		return
	}
	own := reflect.New(v.Type())
	if json.Unmarshal(text, own.Interface()) == nil {
		v.Set(own.Elem())
	}
}
