// Virtual-Link's routing device: it brings the lines that producers push together with the requests of consumers, queue by queue.
//
// From Q. Wu et al., Virtual-Link: A Scalable Multi-Producer, Multi-Consumer Message Queue Architecture for Cross-Core Communication,
// section III-A, figure 7 and table I; names as there. `crates/thalweg-sim/src/device/vlrd.rs` is the same in software, cycle by cycle.
//
//              port                stage 1            stage 2            stage 3             out
//     packet --> prodBuf.IN   --+                                   +--> prodBuf.LINK
//                consBuf      --+-> reads linkTab --> hit or miss --+--> consBuf
//                (answers)    --+        ^                 ^        +--> linkTab
//                                        |     the row     |        +--> prodBuf.OUT --> injection
//                                        +-----------------+--------+
//
// In a cycle the port takes one packet, each stage does one entry, and one mapped line leaves. Answers go first, then requests, then
// lines. Stage 3 forwards the row that it writes to the two stages before it, and so an entry sees what those in front of it did.
//
// The paper's device is RESERVE = 0, ANSWERS = 0, IN_ORDER = 0. The rest is ours:
//
//  ANSWERS   a line keeps its slot until the cache that it was sent to has answered; a rejected one is the first of its queue again.
//            Without, the slot is free as soon as the line has left. (Section III-B says that a rejected line stays, not where.)
//  IN_ORDER  a queue has one unanswered line at most, so that nothing overtakes a line that comes back. It needs ANSWERS.
//  RESERVE, QUOTA   see `shares`.
module routing_device #(
    parameter int ENTRIES = 64,       // slots of prodBuf and of consBuf
    parameter int LINKS = 64,         // rows of linkTab
    parameter int LINE = 512,         // bits of a line
    parameter int TARGET = 50,        // bits of a consumer's line address: physical lines of 64 bytes, and one of 16 cores
    parameter int RESERVE = 1,
    parameter int QUOTA = ENTRIES,
    parameter bit ANSWERS = 1,
    parameter bit IN_ORDER = 1,
    localparam int S = ENTRIES > 1 ? $clog2(ENTRIES) : 1,
    localparam int L = LINKS > 1 ? $clog2(LINKS) : 1,
    localparam int C = $clog2(ENTRIES + 1)
) (
    input  logic              clk,
    input  logic              rst,
    // The port. `taken` answers in the same cycle.
    input  logic              packet,
    input  logic [       1:0] kind,
    input  logic [     L-1:0] sqi,          // of a push, a fetch and an open
    input  logic [  LINE-1:0] line,         // of a push
    input  logic [TARGET-1:0] target,       // of a fetch
    input  logic [     S-1:0] slot,         // of an answer, as the injection had it
    input  logic              accepted,     // of an answer
    output logic              taken,
    output logic [     C-1:0] held,         // lines of the queue `sqi`, before this cycle; 0 if nothing is reserved and there is no quota
    // An injection. It leaves in this cycle.
    output logic              sent,
    output logic [     S-1:0] sent_slot,
    output logic [TARGET-1:0] sent_target,
    output logic [  LINE-1:0] sent_line,
    output logic              busy          // a cycle would change something, also without a packet
);
    localparam logic [1:0] PUSH = 0, FETCH = 1, ANSWER = 2, OPEN = 3;  // of a packet
    localparam logic [1:0] LINED = 0, ASKED = 1, ACCEPTED = 2, REJECTED = 3;  // of an entry of the pipeline

    initial if (IN_ORDER && !ANSWERS) $error("IN_ORDER needs ANSWERS");

    // A row of linkTab: the lists of a queue's waiting lines and waiting requests.
    typedef struct packed {
        logic prod;  // there are waiting lines
        logic cons;  // there are waiting requests
        logic unanswered;  // a line is on its way to a cache
        logic [S-1:0] prod_head, prod_tail, cons_head, cons_tail;
    } row_t;

    // ---- What stage 3 writes; decided by stage 2 one cycle earlier.

    logic w;  // there is an entry
    logic [L-1:0] w_sqi;
    row_t w_row;  // the row, as it will be
    logic w_hit;  // a line and a request were brought together:
    logic [S-1:0] w_line, w_request;
    logic [TARGET-1:0] w_target;
    logic w_free;  // the line in slot `w_answered` was accepted
    logic [S-1:0] w_answered;
    logic w_prod_link, w_cons_link;  // prodBuf.LINK or consBuf: in slot `at`, `next` is next
    logic [S-1:0] w_prod_at, w_prod_next, w_cons_at, w_cons_next;

    // ---- The port: a packet gets a slot, or is refused.

    logic [LINKS-1:0] opened;
    logic prod_may, cons_may, prod_room, cons_room;
    logic [S-1:0] prod_slot, cons_slot;

    wire push = packet && kind == PUSH && opened[sqi] && prod_may;
    wire fetch = packet && kind == FETCH && opened[sqi] && cons_may;
    wire answer = ANSWERS && packet && kind == ANSWER;
    wire open = packet && kind == OPEN && !opened[sqi] && prod_room && cons_room;

    assign taken = push || fetch || answer || open;

    always_ff @(posedge clk)
        if (rst) opened <= 0;
        else if (open) opened[sqi] <= 1;

    logic out_sent;  // without answers: the line that leaves gives its slot back
    logic [L-1:0] out_sqi;

    shares #(.ENTRIES(ENTRIES), .LINKS(LINKS), .RESERVE(RESERVE), .QUOTA(QUOTA)) prod_shares (
        .clk, .rst, .sqi, .open, .held,
        .give(ANSWERS ? w_free : out_sent), .give_slot(ANSWERS ? w_answered : sent_slot), .give_sqi(ANSWERS ? w_sqi : out_sqi),
        .take(push), .may_take(prod_may), .has_room(prod_room), .slot(prod_slot)
    );

    logic [C-1:0] unused_held;
    shares #(.ENTRIES(ENTRIES), .LINKS(LINKS), .RESERVE(RESERVE), .QUOTA(QUOTA)) cons_shares (
        .clk, .rst, .sqi, .open, .held(unused_held),
        .give(w_hit), .give_slot(w_request), .give_sqi(w_sqi),
        .take(fetch), .may_take(cons_may), .has_room(cons_room), .slot(cons_slot)
    );

    // ---- prodBuf.IN and consBuf's input: what came, in order. An answer uses its line's slot again.

    logic prod_in, cons_in, answers;  // these lists have a head
    logic [S-1:0] prod_in_head, cons_in_head, answers_head;
    logic [S-1:0] prod_in_tail, cons_in_tail, answers_tail;
    logic prod_in_link, cons_in_link, answers_link;
    logic [S-1:0] prod_second, cons_second;

    // Answers go first, then requests, then lines.
    wire read_answer = answers;
    wire read_request = !answers && cons_in;
    wire read_line = !answers && !cons_in && prod_in;
`ifdef FORMAL
    // A packet comes in a cycle, and one is read: no two of the lists have a head, so none goes before another.
    always_ff @(posedge clk) if (!rst) assert (!(prod_in && cons_in) && !(answers && (prod_in || cons_in)));
`endif

    entry_list #(.S(S)) prod_in_list (
        .clk, .rst, .pop(read_line), .second(prod_second), .push, .slot(prod_slot),
        .some(prod_in), .head(prod_in_head), .link(prod_in_link), .tail(prod_in_tail)
    );
    entry_list #(.S(S)) cons_in_list (
        .clk, .rst, .pop(read_request), .second(cons_second), .push(fetch), .slot(cons_slot),
        .some(cons_in), .head(cons_in_head), .link(cons_in_link), .tail(cons_in_tail)
    );

    wire [S-1:0] prod_first = read_answer ? answers_head : prod_in_head;
    logic read_accepted;

    if (ANSWERS) begin : g_answers
        entry_list #(.S(S)) answer_list (
            .clk, .rst, .pop(read_answer), .second(prod_second), .push(answer), .slot,
            .some(answers), .head(answers_head), .link(answers_link), .tail(answers_tail)
        );
        memory #(.WIDTH(1), .DEPTH(ENTRIES)) prod_answer (
            .clk, .write(answer), .to(slot), .value(accepted), .from(answers_head), .word(read_accepted)
        );
    end else begin : g_no_answers
        assign {answers, answers_head, answers_tail, answers_link, read_accepted} = '0;
        wire unused = &{slot, accepted};
    end

    memory #(.WIDTH(S), .DEPTH(ENTRIES)) prod_next_in (
        .clk, .write(prod_in_link || answers_link), .to(answers_link ? answers_tail : prod_in_tail),
        .value(answers_link ? slot : prod_slot), .from(prod_first), .word(prod_second)
    );
    memory #(.WIDTH(S), .DEPTH(ENTRIES)) cons_next_in (
        .clk, .write(cons_in_link), .to(cons_in_tail), .value(cons_slot), .from(cons_in_head), .word(cons_second)
    );

    logic [L-1:0] prod_link_id, cons_link_id;
    memory #(.WIDTH(L), .DEPTH(ENTRIES)) prod_link_ids (
        .clk, .write(push), .to(prod_slot), .value(sqi), .from(prod_first), .word(prod_link_id)
    );
    memory #(.WIDTH(L), .DEPTH(ENTRIES)) cons_link_ids (
        .clk, .write(fetch), .to(cons_slot), .value(sqi), .from(cons_in_head), .word(cons_link_id)
    );

    // ---- Stage 1: reads the row of the next entry.

    logic r;  // there is an entry
    logic [1:0] r_kind;
    logic [S-1:0] r_slot;
    logic [L-1:0] r_sqi;
    row_t r_row;

    // What tells empty lists has a bit for each row, and is reset; heads and tails are not.
    logic [LINKS-1:0] prod_some, cons_some, unanswered;
    logic [4*S-1:0] read_ends;
    wire [L-1:0] read_sqi = read_request ? cons_link_id : prod_link_id;

    memory #(.WIDTH(4 * S), .DEPTH(LINKS)) link_tab (
        .clk, .write(w), .to(w_sqi), .value({w_row.prod_head, w_row.prod_tail, w_row.cons_head, w_row.cons_tail}),
        .from(read_sqi), .word(read_ends)
    );

    always_ff @(posedge clk)
        if (rst) begin
            prod_some <= 0;
            cons_some <= 0;
            unanswered <= 0;
        end else if (w) begin
            prod_some[w_sqi] <= w_row.prod;
            cons_some[w_sqi] <= w_row.cons;
            unanswered[w_sqi] <= w_row.unanswered;
        end

    always_ff @(posedge clk) begin
        r <= !rst && (read_answer || read_request || read_line);
        r_slot <= read_request ? cons_in_head : prod_first;
        r_sqi <= read_sqi;
        if (read_answer) r_kind <= read_accepted ? ACCEPTED : REJECTED;
        else r_kind <= read_request ? ASKED : LINED;
        // Forwarded: stage 3 writes this row now.
        r_row <= w && w_sqi == read_sqi ? w_row
            : {prod_some[read_sqi], cons_some[read_sqi], unanswered[read_sqi], read_ends};
    end

    // ---- Stage 2: hit or miss.

    // Forwarded: the entry in front was decided when this one's row was read.
    row_t d_row;
    assign d_row = w && w_sqi == r_sqi ? w_row : r_row;

    // The line and the request that come first: the entry itself, or the head of the queue's list.
    wire is_answer = r_kind == ACCEPTED || r_kind == REJECTED;
    wire new_line = r_kind == LINED || r_kind == REJECTED;
    wire new_request = r_kind == ASKED;
    wire waits = IN_ORDER && d_row.unanswered && !is_answer;
    wire hit = (new_line || d_row.prod) && (new_request || d_row.cons) && !waits;
    wire [S-1:0] d_line = new_line ? r_slot : d_row.prod_head;
    wire [S-1:0] d_request = new_request ? r_slot : d_row.cons_head;

    logic [S-1:0] prod_next, cons_next;  // who comes behind them
    logic [TARGET-1:0] d_target;

    row_t d_new;
    always_comb begin
        d_new = d_row;
        d_new.unanswered = IN_ORDER && (hit || (d_row.unanswered && !is_answer));
        if (hit && !new_line) begin
            d_new.prod = d_row.prod_head != d_row.prod_tail;
            d_new.prod_head = prod_next;
        end
        if (hit && !new_request) begin
            d_new.cons = d_row.cons_head != d_row.cons_tail;
            d_new.cons_head = cons_next;
        end
        if (!hit && new_line) begin
            // Behind all others, or before them if it was rejected.
            d_new.prod = 1;
            if (!d_row.prod || r_kind == REJECTED) d_new.prod_head = r_slot;
            if (!d_row.prod || r_kind == LINED) d_new.prod_tail = r_slot;
        end
        if (!hit && new_request) begin
            d_new.cons = 1;
            if (!d_row.cons) d_new.cons_head = r_slot;
            d_new.cons_tail = r_slot;
        end
    end

    always_ff @(posedge clk) begin
        w <= r && !rst;
        w_sqi <= r_sqi;
        w_row <= d_new;
        w_hit <= r && hit && !rst;
        w_line <= d_line;
        w_request <= d_request;
        w_target <= d_target;
        w_free <= r && r_kind == ACCEPTED && !rst;
        w_answered <= r_slot;
        w_prod_link <= r && !hit && new_line && d_row.prod && !rst;
        w_prod_at <= r_kind == REJECTED ? r_slot : d_row.prod_tail;
        w_prod_next <= r_kind == REJECTED ? d_row.prod_head : r_slot;
        w_cons_link <= r && !hit && new_request && d_row.cons && !rst;
        w_cons_at <= d_row.cons_tail;
        w_cons_next <= r_slot;
    end

    // ---- Stage 3: writes. prodBuf.LINK and consBuf are read by stage 2 meanwhile, so that is forwarded, too.

    logic [S-1:0] prod_next_kept, cons_next_kept;
    memory #(.WIDTH(S), .DEPTH(ENTRIES)) prod_next_l (
        .clk, .write(w_prod_link), .to(w_prod_at), .value(w_prod_next), .from(d_row.prod_head), .word(prod_next_kept)
    );
    memory #(.WIDTH(S), .DEPTH(ENTRIES)) cons_next_l (
        .clk, .write(w_cons_link), .to(w_cons_at), .value(w_cons_next), .from(d_row.cons_head), .word(cons_next_kept)
    );
    assign prod_next = w_prod_link && w_prod_at == d_row.prod_head ? w_prod_next : prod_next_kept;
    assign cons_next = w_cons_link && w_cons_at == d_row.cons_head ? w_cons_next : cons_next_kept;

    memory #(.WIDTH(TARGET), .DEPTH(ENTRIES)) cons_target (
        .clk, .write(fetch), .to(cons_slot), .value(target), .from(d_request), .word(d_target)
    );

    // ---- prodBuf's data and OUT: mapped lines, in order. One leaves in each cycle.

    logic out_link;
    logic [S-1:0] out_second, out_tail;
    entry_list #(.S(S)) prod_out_list (
        .clk, .rst, .pop(sent), .second(out_second), .push(w_hit), .slot(w_line),
        .some(sent), .head(sent_slot), .link(out_link), .tail(out_tail)
    );
    memory #(.WIDTH(S), .DEPTH(ENTRIES)) prod_next_out (
        .clk, .write(out_link), .to(out_tail), .value(w_line), .from(sent_slot), .word(out_second)
    );
    memory #(.WIDTH(TARGET), .DEPTH(ENTRIES)) prod_target (
        .clk, .write(w_hit), .to(w_line), .value(w_target), .from(sent_slot), .word(sent_target)
    );
    memory #(.WIDTH(LINE), .DEPTH(ENTRIES)) prod_data (
        .clk, .write(push), .to(prod_slot), .value(line), .from(sent_slot), .word(sent_line)
    );

    if (!ANSWERS && (RESERVE > 0 || QUOTA < ENTRIES)) begin : g_out_sqi
        memory #(.WIDTH(L), .DEPTH(ENTRIES)) prod_out_sqi (
            .clk, .write(w_hit), .to(w_line), .value(w_sqi), .from(sent_slot), .word(out_sqi)
        );
    end else begin : g_no_out_sqi
        assign out_sqi = 0;
    end
    assign out_sent = !ANSWERS && sent;

    assign busy = answers || prod_in || cons_in || sent || r || w;
endmodule
