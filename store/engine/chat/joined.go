package chat

// joined is a text that is put together.
type joined struct {
	data []byte
	// messages is how many of them the text has.
	messages int
}

// text appends texts.
func (j *joined) text(list ...string) {
	for _, text := range list {
		j.data = append(j.data, text...)
	}
}

// bytes appends bytes.
func (j *joined) bytes(data []byte) { j.data = append(j.data, data...) }
