package wire

import "slices"

// HeaderSize is the length of a packet's header: 3 bytes of length, 1 of sequence number ("MySQL
// Packets").
const HeaderSize = 4

// MaxPayload is the most that one packet carries. A longer message continues in the next packet,
// and one of exactly this length, or a multiple, is followed by an empty packet.
const MaxPayload = 1<<24 - 1

// Header reads a packet's header from b, which must have HeaderSize bytes. Sequence numbers start
// at 0 with each command, are counted on by both sides, and wrap at 255.
func Header(b []byte) (length int, seq byte) { return int(uint24(b)), b[3] }

// PutHeader writes a packet's header over the first HeaderSize bytes of b. length is at most
// MaxPayload.
func PutHeader(b []byte, length int, seq byte) {
	_ = b[3]
	b[0], b[1], b[2], b[3] = byte(length), byte(length>>8), byte(length>>16), seq
}

// Reserve appends room for a header. The payload is then appended, and Finish fills the header in.
func Reserve(dst []byte) []byte { return append(dst, 0, 0, 0, 0) }

// Finish makes packets of the payload that was appended to dst since Reserve, when dst had the
// length start. seq is the number of the first packet; next is the one for what follows. Only a
// payload of MaxPayload or more is moved.
func Finish(dst []byte, start int, seq byte) (out []byte, next byte) {
	n := len(dst) - start - HeaderSize
	more := n / MaxPayload // packets behind the first
	dst = slices.Grow(dst, more*HeaderSize)[:len(dst)+more*HeaderSize]
	for i := more; i >= 0; i-- { // from the last, so that nothing is overwritten
		from := start + HeaderSize + i*MaxPayload
		to := start + i*(HeaderSize+MaxPayload)
		length := min(MaxPayload, n-i*MaxPayload)
		copy(dst[to+HeaderSize:], dst[from:from+length])
		PutHeader(dst[to:], length, seq+byte(i))
	}
	return dst, seq + byte(more) + 1
}

// AppendMessage appends the payload in as many packets as it needs, beginning with the number seq.
// next is the number for what follows.
func AppendMessage(dst, payload []byte, seq byte) (out []byte, next byte) {
	dst = slices.Grow(dst, len(payload)+HeaderSize*(len(payload)/MaxPayload+1))
	for {
		n := min(len(payload), MaxPayload)
		dst = append(dst, byte(n), byte(n>>8), byte(n>>16), seq)
		dst = append(dst, payload[:n]...)
		payload = payload[n:]
		seq++
		if n < MaxPayload {
			return dst, seq
		}
	}
}

// Split cuts the first message off b, which begins with a packet's header. n is its length with
// all headers, or 0 if b does not hold all of it yet. The payload aliases b if the message is one
// packet, else it is a joined copy. seq is the number of the last packet. A packet out of order
// inside the message is an error; the first one's number is for the caller to judge.
func Split(b []byte) (payload []byte, seq byte, n int, err error) {
	total := 0 // of payload
	for parts := 0; ; parts++ {
		if len(b)-n < HeaderSize {
			return nil, 0, 0, nil
		}
		length, number := Header(b[n:])
		if parts > 0 && number != seq+1 {
			return nil, 0, 0, &DecodeError{
				Message: "packet header", Offset: n + 3, Length: len(b), Want: "the next sequence number",
			}
		}
		n += HeaderSize + length
		total += length
		seq = number
		if n > len(b) {
			return nil, 0, 0, nil
		}
		if length == MaxPayload {
			continue
		}
		if parts == 0 {
			return b[HeaderSize:n:n], seq, n, nil
		}
		return join(b[:n], total), seq, n, nil
	}
}

func join(b []byte, total int) []byte {
	payload := make([]byte, 0, total)
	for len(b) > 0 {
		length, _ := Header(b)
		payload = append(payload, b[HeaderSize:HeaderSize+length]...)
		b = b[HeaderSize+length:]
	}
	return payload
}

// Need returns how many bytes b must have for Split to come further: a whole message, or, while
// its length cannot be known, the next header.
func Need(b []byte) int {
	n := 0
	for {
		if len(b)-n < HeaderSize {
			return n + HeaderSize
		}
		length, _ := Header(b[n:])
		n += HeaderSize + length
		if length < MaxPayload || n > len(b) {
			return n
		}
	}
}
