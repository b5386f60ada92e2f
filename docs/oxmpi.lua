-- Wireshark dissector for OxMPI's frames, on raw Ethernet and in UDP datagrams.
--
-- Load it with `wireshark -X lua_script:oxmpi.lua capture.0.udp.pcapng`, or copy it to the folder that Help > About > Folders calls "Personal Lua Plugins".
-- docs/captures.md says how captures are made. The layouts are those of wire/src/frame (frames, pieces) and wire/src/packet.rs (packets of MPI messages);
-- all integers are little endian. UDP datagrams are recognised by what they look like; a port can also be given in the preferences of the protocol.

local oxmpi = Proto("oxmpi", "OxMPI frame")

local FRAME_HEADER_BYTES = 40
local FRAME_VERSION = 2
local PIECE_HEADER_BYTES = 4
local PACKET_LENGTH_BYTES = 4
local PACKET_HEADER_BYTES = 32
local PACKET_VERSION = 3
local GOODBYE = 0xFFFFFFFF
local PAUSE = 0xFFFFFFFE
local ETHERTYPES = { 0x88B5, 0x88B6 }

local DATA, ACK, LOSE, STOP = 1, 2, 3, 4
local KINDS = {
  [1] = "data", [2] = "ack", [3] = "LOSE", [4] = "STOP",
  [5] = "GO", [6] = "probe", [7] = "hello", [8] = "welcome",
}
local FLAGS_MAX, SELECTIVE, SEALED, SEAL_BYTES = 0x001F, 0x0004, 0x0010, 16
local FIRST, LAST = 1, 2

-- Kinds of packets, each with the names of the words that follow its header.
local PACKETS = {
  [0x01] = { "eager" },
  [0x02] = { "credit" },
  [0x03] = { "revoke" },
  [0x41] = { "more", "offset" },
  [0x42] = { "done", "send" },
  [0x43] = { "cancel", "send" },
  [0x44] = { "cancel reply", "send" },
  [0x45] = { "lock", "token" },
  [0x46] = { "locked", "token" },
  [0x47] = { "unlock", "token" },
  [0x48] = { "flush", "token" },
  [0x49] = { "served", "token" },
  [0x81] = { "request to send", "send", "address" },
  [0x82] = { "clear to send", "send", "receive" },
  [0x83] = { "refused", "token", "refusal" },
  [0x84] = { "put", "token", "offset" },
  [0x85] = { "get", "token", "offset" },
  [0x86] = { "agree", "instance", "value" },
  [0x87] = { "agreed", "instance", "value" },
  [0x88] = { "introduce", "token", "given" },
  [0x89] = { "introduced", "token", "given" },
  [0xa1] = { "data", "receive", "offset" },
  [0xa2] = { "fetched", "token", "offset" },
  [0xa3] = { "cleared by the kernel", "receive", "send" },
  [0xc1] = { "accumulate", "token", "offset", "operation" },
  [0xc2] = { "compare and swap", "token", "offset", "operation" },
}
-- A kind that is not in the table is one of a later release: its two upper bits tell how many words it has.
local function names_of(kind)
  if PACKETS[kind] ~= nil or kind % 32 == 0 then return PACKETS[kind] end
  local names = { string.format("unknown kind 0x%02x", kind) }
  for _ = 1, math.floor(kind / 64) do table.insert(names, "token") end
  return names
end
local PACKET_NAMES = {}
for code, names in pairs(PACKETS) do PACKET_NAMES[code] = names[1] end

local f = {
  version = ProtoField.uint8("oxmpi.version", "Version"),
  kind = ProtoField.uint8("oxmpi.kind", "Kind", base.DEC, KINDS),
  channel = ProtoField.uint16("oxmpi.channel", "Channel of the receiver"),
  to = ProtoField.uint32("oxmpi.to", "To node"),
  name = ProtoField.uint32("oxmpi.name", "Sender, by the name that the receiver gave it"),
  length = ProtoField.uint16("oxmpi.length", "Bytes of payload"),
  flags = ProtoField.uint16("oxmpi.flags", "Flags", base.HEX),
  checked = ProtoField.bool("oxmpi.flags.checked", "Checked: there is a checksum", 16, nil, 0x0001),
  stopped = ProtoField.bool("oxmpi.flags.stopped", "Stopped: the sender wants silence", 16, nil, 0x0002),
  selective = ProtoField.bool("oxmpi.flags.selective", "Selective: the payload is a bitmap of frames kept", 16, nil, SELECTIVE),
  asking = ProtoField.bool("oxmpi.flags.asking", "Asking: to be acknowledged at once", 16, nil, 0x0008),
  sealed = ProtoField.bool("oxmpi.flags.sealed", "Sealed: the payload is encrypted", 16, nil, SEALED),
  sequence = ProtoField.uint32("oxmpi.sequence", "Sequence"),
  ack = ProtoField.uint32("oxmpi.ack", "Next frame expected from the other side"),
  crc = ProtoField.uint32("oxmpi.crc", "CRC32C", base.HEX),
  serial = ProtoField.uint32("oxmpi.serial", "Number of the transmission, lower half"),
  tag = ProtoField.uint64("oxmpi.tag", "Proof of the header", base.HEX),
  ciphertext = ProtoField.bytes("oxmpi.ciphertext", "Encrypted payload and its proof"),
  kept = ProtoField.bytes("oxmpi.kept", "Frames kept beyond the acknowledged"),
  payload = ProtoField.bytes("oxmpi.payload", "Payload"),
  piece = ProtoField.none("oxmpi.piece", "Piece"),
  piece_bytes = ProtoField.uint16("oxmpi.piece.bytes", "Bytes"),
  piece_first = ProtoField.bool("oxmpi.piece.first", "First of its message", 16, nil, FIRST),
  piece_last = ProtoField.bool("oxmpi.piece.last", "Last of its message", 16, nil, LAST),
  piece_data = ProtoField.bytes("oxmpi.piece.data", "Content"),
  packet = ProtoField.none("oxmpi.packet", "Packet"),
  packet_length = ProtoField.uint32("oxmpi.packet.length", "Bytes of payload"),
  farewell = ProtoField.uint32("oxmpi.farewell", "Farewell", base.HEX, { [GOODBYE] = "goodbye", [PAUSE] = "pause" }),
  packet_version = ProtoField.uint8("oxmpi.packet.version", "Version"),
  packet_kind = ProtoField.uint8("oxmpi.packet.kind", "Kind", base.HEX, PACKET_NAMES),
  packet_flags = ProtoField.uint8("oxmpi.packet.flags", "Flags", base.HEX),
  context = ProtoField.uint64("oxmpi.packet.context", "Context", base.HEX),
  source = ProtoField.uint32("oxmpi.packet.source", "Source"),
  packet_tag = ProtoField.int32("oxmpi.packet.tag", "Tag"),
  bytes = ProtoField.uint64("oxmpi.packet.bytes", "Bytes of the whole message"),
  signature = ProtoField.uint8("oxmpi.packet.signature", "Signature of the data", base.HEX),
  packet_sequence = ProtoField.uint32("oxmpi.packet.sequence", "Sequence"),
  credit = ProtoField.uint16("oxmpi.packet.credit", "Credit, in units of 64 bytes"),
  offset = ProtoField.uint64("oxmpi.packet.offset", "Offset"),
  send = ProtoField.uint64("oxmpi.packet.send", "Sender's token", base.HEX),
  receive = ProtoField.uint64("oxmpi.packet.receive", "Receiver's token", base.HEX),
  address = ProtoField.uint64("oxmpi.packet.address", "Address", base.HEX),
  token = ProtoField.uint64("oxmpi.packet.token", "Token", base.HEX),
  refusal = ProtoField.uint64("oxmpi.packet.refusal", "Refused kind, and reason in the second byte", base.HEX),
  instance = ProtoField.uint64("oxmpi.packet.instance", "Agreement"),
  value = ProtoField.uint64("oxmpi.packet.value", "Value", base.HEX),
  given = ProtoField.uint64("oxmpi.packet.name", "Name that the sender gives to the receiver"),
  operation = ProtoField.uint64("oxmpi.packet.operation", "Element, and operation in the upper 16 bits", base.HEX),
}
for _, field in pairs(f) do table.insert(oxmpi.fields, field) end

local trouble = {
  lose = ProtoExpert.new("oxmpi.lose", "A frame is missing on the other side", expert.group.SEQUENCE, expert.severity.WARN),
  stop = ProtoExpert.new("oxmpi.stop", "The other side's buffers run full", expert.group.SEQUENCE, expert.severity.NOTE),
  short = ProtoExpert.new("oxmpi.short", "Shorter than its header says", expert.group.MALFORMED, expert.severity.ERROR),
}
oxmpi.experts = { trouble.lose, trouble.stop, trouble.short }

oxmpi.prefs.ports = Pref.range("UDP ports", "", "Ports of datagrams that are OxMPI's whatever they look like", 65535)

-- Lua has had operators for bits only since 5.3, and Wireshark is built with older ones, too.
local function has(value, bit)
  return math.floor(value / bit) % 2 == 1
end

-- A packet at the beginning of a message, if it is one: programs that use the channel directly send what they like.
local function packet(tvb, tree, info)
  if tvb:len() < PACKET_LENGTH_BYTES then return false end
  local length = tvb(0, 4):le_uint()
  if length >= PAUSE and tvb:len() == PACKET_LENGTH_BYTES then
    tree:add_le(f.farewell, tvb(0, 4))
    table.insert(info, length == GOODBYE and "goodbye" or "pause")
    return true
  end
  if tvb:len() < PACKET_LENGTH_BYTES + PACKET_HEADER_BYTES then return false end
  local head = tvb(PACKET_LENGTH_BYTES)
  local names = names_of(head(1, 1):uint())
  if head(0, 1):uint() ~= PACKET_VERSION or names == nil then return false end
  local body = 8 * (#names - 1)
  if head:len() < PACKET_HEADER_BYTES + body then return false end
  local branch = tree:add(f.packet, tvb(0, PACKET_LENGTH_BYTES + PACKET_HEADER_BYTES + body))
  branch:add_le(f.packet_length, tvb(0, 4))
  branch:add_le(f.packet_version, head(0, 1))
  branch:add_le(f.packet_kind, head(1, 1))
  branch:add_le(f.credit, head(2, 2))
  branch:add_le(f.source, head(4, 4))
  branch:add_le(f.context, head(8, 8))
  branch:add_le(f.packet_tag, head(16, 4))
  branch:add_le(f.packet_sequence, head(20, 4))
  branch:add_le(f.bytes, head(24, 6))
  branch:add(f.signature, head(30, 1))
  branch:add_le(f.packet_flags, head(31, 1))
  for word = 2, #names do
    branch:add_le(f[names[word]], head(PACKET_HEADER_BYTES + 8 * (word - 2), 8))
  end
  local text = string.format("%s, tag %d, %s bytes", names[1], head(16, 4):le_int(), tostring(head(24, 6):le_uint64()))
  branch:append_text(": " .. text)
  table.insert(info, text)
  return true
end

local function pieces(tvb, tree, info)
  local at = 0
  while at + PIECE_HEADER_BYTES <= tvb:len() do
    local bytes = tvb(at, 2):le_uint()
    local flags = tvb(at + 2, 2):le_uint()
    local there = math.min(bytes, tvb:len() - at - PIECE_HEADER_BYTES)
    local branch = tree:add(f.piece, tvb(at, PIECE_HEADER_BYTES + there))
    branch:append_text(string.format(": %d bytes%s%s", bytes, has(flags, FIRST) and ", first" or "", has(flags, LAST) and ", last" or ""))
    branch:add_le(f.piece_bytes, tvb(at, 2))
    branch:add_le(f.piece_first, tvb(at + 2, 2))
    branch:add_le(f.piece_last, tvb(at + 2, 2))
    if there < bytes then branch:add_proto_expert_info(trouble.short) end
    if there > 0 then
      local content = tvb(at + PIECE_HEADER_BYTES, there)
      if has(flags, FIRST) then packet(content:tvb(), branch, info) end
      branch:add(f.piece_data, content)
    end
    at = at + PIECE_HEADER_BYTES + there
  end
end

function oxmpi.dissector(tvb, pinfo, root)
  if tvb:len() < FRAME_HEADER_BYTES or tvb(0, 1):uint() ~= FRAME_VERSION then return 0 end
  local kind, length, flags = tvb(1, 1):uint(), tvb(12, 2):le_uint(), tvb(14, 2):le_uint()
  local trailer = has(flags, SEALED) and SEAL_BYTES or 0
  local there = math.min(length + trailer, tvb:len() - FRAME_HEADER_BYTES)
  local from, to, sequence, ack = tvb(8, 4):le_uint(), tvb(4, 4):le_uint(), tvb(16, 4):le_uint(), tvb(20, 4):le_uint()
  local name = KINDS[kind] or string.format("kind %d", kind)
  local text = string.format("%d→%d %s", from, to, name)
  if kind == DATA then text = text .. string.format(" #%d %d B", sequence, length) end
  text = text .. (kind == ACK and string.format(" %d", ack) or string.format(" ack %d", ack))

  local tree = root:add(oxmpi, tvb(0, FRAME_HEADER_BYTES + there), "OxMPI " .. text)
  tree:add_le(f.version, tvb(0, 1))
  tree:add_le(f.kind, tvb(1, 1))
  tree:add_le(f.channel, tvb(2, 2))
  tree:add_le(f.to, tvb(4, 4))
  tree:add_le(f.name, tvb(8, 4))
  tree:add_le(f.length, tvb(12, 2))
  local branch = tree:add_le(f.flags, tvb(14, 2))
  for _, field in ipairs({ f.checked, f.stopped, f.selective, f.asking, f.sealed }) do branch:add_le(field, tvb(14, 2)) end
  tree:add_le(f.sequence, tvb(16, 4))
  tree:add_le(f.ack, tvb(20, 4))
  tree:add_le(f.serial, tvb(24, 4))
  tree:add_le(f.crc, tvb(28, 4))
  tree:add_le(f.tag, tvb(32, 8))
  if there < length + trailer then tree:add_proto_expert_info(trouble.short) end
  if kind == LOSE then tree:add_proto_expert_info(trouble.lose) end
  if kind == STOP then tree:add_proto_expert_info(trouble.stop) end

  local info = { text }
  if there > 0 then
    local payload = tvb(FRAME_HEADER_BYTES, there)
    if has(flags, SEALED) then
      tree:add(f.ciphertext, payload)
      table.insert(info, "encrypted")
    elseif kind == DATA then
      pieces(payload:tvb(), tree, info)
    elseif has(flags, SELECTIVE) then
      tree:add(f.kept, payload)
    else
      tree:add(f.payload, payload)
    end
  end
  pinfo.cols.protocol = "OxMPI"
  pinfo.cols.info = table.concat(info, " | ")
  -- What is behind it is padding: cards send no packet shorter than 60 bytes.
  return FRAME_HEADER_BYTES + there
end

local function looks_like_ours(tvb, pinfo, root)
  if tvb:len() < FRAME_HEADER_BYTES then return false end
  local flags = tvb(14, 2):le_uint()
  local trailer = has(flags, SEALED) and SEAL_BYTES or 0
  local ours = tvb(0, 1):uint() == FRAME_VERSION
    and KINDS[tvb(1, 1):uint()] ~= nil
    and tvb(12, 2):le_uint() == tvb:reported_len() - FRAME_HEADER_BYTES - trailer
    and flags <= FLAGS_MAX
  return ours and oxmpi.dissector(tvb, pinfo, root) > 0
end

for _, ethertype in ipairs(ETHERTYPES) do DissectorTable.get("ethertype"):add(ethertype, oxmpi) end
oxmpi:register_heuristic("udp", looks_like_ours)

local ports = ""
function oxmpi.prefs_changed()
  if ports ~= oxmpi.prefs.ports then
    if ports ~= "" then DissectorTable.get("udp.port"):remove(ports, oxmpi) end
    ports = oxmpi.prefs.ports
    if ports ~= "" then DissectorTable.get("udp.port"):add(ports, oxmpi) end
  end
end
