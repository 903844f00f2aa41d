package handover

// ToConverse returns the message as Strands writes it: in the form of Bedrock's Converse, with bytes as an object that says
// so.
func (m *Message) ToConverse() map[string]any {
	role, content := "user", make([]any, 0, len(m.Parts))
	if m.Assistant {
		role = "assistant"
	}
	for i := range m.Parts {
		content = append(content, m.Parts[i].partToConverse())
	}
	return map[string]any{"role": role, "content": content}
}

func (p *Part) partToConverse() map[string]any {
	switch p.Kind {
	case Picture:
		data := map[string]any{"__bytes_encoded__": true, "data": p.Picture.EncodeData()}
		return map[string]any{"image": map[string]any{"format": p.Picture.Format, "source": map[string]any{"bytes": data}}}
	case Call:
		return map[string]any{"toolUse": map[string]any{"toolUseId": p.ID, "name": p.Tool, "input": p.Input}}
	case Result:
		status := "success"
		if p.Failed {
			status = "error"
		}
		return map[string]any{"toolResult": map[string]any{"toolUseId": p.ID, "status": status, "content": []any{map[string]any{"text": p.Text}}}}
	}
	return map[string]any{"text": p.Text}
}
