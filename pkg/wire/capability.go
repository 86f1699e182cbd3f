package wire

// Capability is a set of what a client or server can do ("Capabilities Flags"). The lower 32 bits
// are MySQL's, which MariaDB shares; the upper ones are MariaDB's extended capabilities.
type Capability uint64

// The capabilities, without MySQL's CLIENT_ prefix.
const (
	LongPassword         Capability = 1 << iota // MariaDB calls it CLIENT_MYSQL: unset, extended capabilities follow
	FoundRows                                   // affected rows are those found, not those changed
	LongFlag                                    // column flags of 2 bytes
	ConnectWithDB                               // the response names a database
	NoSchema                                    // no database.table.column
	Compress                                    // zlib
	ODBC                                        // no meaning
	LocalFiles                                  // LOAD DATA LOCAL
	IgnoreSpace                                 // spaces before ( are ignored
	Protocol41                                  // everything newer than 4.0; this package knows no other form
	Interactive                                 // interactive_timeout, not wait_timeout
	SSL                                         // TLS follows on an SSLRequest
	IgnoreSigpipe                               // no meaning on the wire
	Transactions                                // status flags in OK; every server sends them
	Reserved                                    // no meaning
	SecureConnection                            // authentication of 4.1
	MultiStatements                             // several statements in one COM_QUERY
	MultiResults                                // several results to one COM_QUERY
	PSMultiResults                              // several results to one COM_STMT_EXECUTE
	PluginAuth                                  // names of authentication plugins
	ConnectAttrs                                // connection attributes
	PluginAuthLenEnc                            // authentication data longer than 255 bytes
	ExpiredPasswords                            // the client can change an expired password
	SessionTrack                                // OK carries changes of session state
	DeprecateEOF                                // OK in the place of EOF
	OptionalMetadata                            // definitions of columns may be left out
	ZstdCompression                             // zstd
	QueryAttributes                             // attributes with COM_QUERY and COM_STMT_EXECUTE
	MultiFactor                                 // more than one authentication plugin in turn
	ExtensionReserved                           // MySQL keeps it for more bits; MariaDB's old progress flag
	VerifyServerCert                            // a client library's own
	RememberOptions                             // a client library's own
	MariaDBProgress                             // progress packets while a statement runs
	MariaDBMulti                                // COM_MULTI, which no released server has
	MariaDBBulk                                 // COM_STMT_BULK_EXECUTE
	MariaDBMetadata                             // extended type information in column definitions
	MariaDBCacheMetadata                        // definitions of columns are left out when unchanged
	MariaDBBulkResults                          // a result for each row of a bulk execute
)

// Has tells whether all bits of flags are set.
func (c Capability) Has(flags Capability) bool { return c&flags == flags }

// Status is a server's state, sent with OK and EOF ("SERVER_STATUS_flags_enum").
type Status uint16

// The status flags.
const (
	InTransaction       Status = 0x0001
	Autocommit          Status = 0x0002
	MoreResults         Status = 0x0008 // another result follows in the same answer
	NoGoodIndex         Status = 0x0010
	NoIndex             Status = 0x0020
	CursorExists        Status = 0x0040 // rows are to be fetched
	LastRowSent         Status = 0x0080 // COM_STMT_FETCH came to the end
	DatabaseDropped     Status = 0x0100
	NoBackslashEscapes  Status = 0x0200 // sql_mode: a backslash is a plain character
	MetadataChanged     Status = 0x0400 // a prepared statement was prepared anew with other columns
	QueryWasSlow        Status = 0x0800
	OutParameters       Status = 0x1000 // the row holds OUT parameters
	InReadOnly          Status = 0x2000 // in a read only transaction
	SessionStateChanged Status = 0x4000 // trackers follow
	StatusANSIQuotes    Status = 0x8000 // MariaDB only: sql_mode has ANSI_QUOTES
)

// Has tells whether all bits of flags are set.
func (s Status) Has(flags Status) bool { return s&flags == flags }

// Ids of character sets that the protocol needs by number. An id above 255 does not fit the
// handshake: servers read 1 byte there.
const (
	CharsetLatin1  = 8   // latin1_swedish_ci
	CharsetUTF8MB4 = 45  // utf8mb4_general_ci, which every server has
	CharsetBinary  = 63  // of columns without a character set
	CharsetUTF8900 = 255 // utf8mb4_0900_ai_ci, MySQL only
)
