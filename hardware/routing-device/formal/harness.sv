// What must never be, for `yosys sat`: a line that is lost, doubled, or out of order within its queue. And what must be in the end.
//
// Everything at the port is free, but for what no producer and no cache does: the lines of a queue are numbered as they are taken, a
// request names its queue, and an answer is for a line that is under way. Then a line that leaves has to be the one with the number that
// its queue has not yet given out, or, while it is under way, nothing may leave after it.
module harness #(
    parameter int ENTRIES = 2,
    parameter int LINKS = 2,
    parameter int NUMBER = 3,  // bits of a line's number
    parameter int RESERVE = 1,
    parameter bit ANSWERS = 1,
    parameter bit IN_ORDER = 1,
    localparam int S = ENTRIES > 1 ? $clog2(ENTRIES) : 1,
    localparam int L = LINKS > 1 ? $clog2(LINKS) : 1,
    localparam int C = $clog2(ENTRIES + 1)
) (
    input logic clk,
    input logic rst,
    input logic packet,
    input logic [1:0] kind,
    input logic [L-1:0] sqi,
    input logic [S-1:0] slot,
    input logic accepted
);
    localparam logic [1:0] PUSH = 0, FETCH = 1, ANSWER = 2, OPEN = 3;

    logic [NUMBER-1:0] pushed[LINKS];  // lines that were taken
    logic [NUMBER-1:0] given[LINKS];  // lines that have arrived
    logic [ENTRIES-1:0] under_way;
    logic [L-1:0] queue[ENTRIES];  // of the line under way
    logic [C-1:0] requests[LINKS];  // that were taken and have no line

    logic taken, sent, busy;
    logic [S-1:0] sent_slot;
    logic [L-1:0] to;
    logic [NUMBER-1:0] number;
    logic [C-1:0] held;

    // An answer that nobody could give is no packet.
    wire real_packet = packet && (kind != ANSWER || (ANSWERS && under_way[slot]));

    routing_device #(
        .ENTRIES(ENTRIES), .LINKS(LINKS), .LINE(NUMBER), .TARGET(L), .RESERVE(RESERVE), .ANSWERS(ANSWERS), .IN_ORDER(IN_ORDER)
    ) device (
        .clk, .rst, .packet(real_packet), .kind, .sqi, .line(pushed[sqi]), .target(sqi), .slot, .accepted,
        .taken, .held, .sent, .sent_slot, .sent_target(to), .sent_line(number), .busy
    );

    wire push = real_packet && kind == PUSH && taken;
    wire fetch = real_packet && kind == FETCH && taken;
    wire answer = real_packet && kind == ANSWER;
    wire arrives = ANSWERS ? answer && accepted : sent;
    wire [L-1:0] arrived = ANSWERS ? queue[slot] : to;

    always_ff @(posedge clk)
        if (rst) begin
            under_way <= 0;
            for (int i = 0; i < LINKS; i++) begin
                pushed[i] <= 0;
                given[i] <= 0;
                requests[i] <= 0;
            end
        end else begin
            if (push) pushed[sqi] <= pushed[sqi] + 1;
            if (arrives) given[arrived] <= given[arrived] + 1;
            for (int i = 0; i < LINKS; i++)
                requests[i] <= requests[i] + C'(fetch && sqi == L'(i)) - C'(sent && to == L'(i));
            if (answer) under_way[slot] <= 0;
            if (sent && ANSWERS) under_way[sent_slot] <= 1;
            if (sent) queue[sent_slot] <= to;
        end

    // A queue with a line under way.
    logic [LINKS-1:0] waiting;
    always_comb begin
        waiting = 0;
        for (int i = 0; i < ENTRIES; i++) if (under_way[i]) waiting[queue[i]] = 1;
    end

    // Cycles in which nothing came.
    logic [3:0] quiet;
    always_ff @(posedge clk)
        if (rst || real_packet) quiet <= 0;
        else if (quiet != '1) quiet <= quiet + 1;

    always_comb
        if (!rst) begin
            if (sent) begin
                // Neither lost nor doubled nor out of order: it is the next one of its queue. And it was taken, and asked for.
                assert (number == given[to]);
                assert (pushed[to] != given[to]);
                assert (requests[to] != 0);
                if (IN_ORDER) assert (!waiting[to]);
                if (ANSWERS) assert (!under_way[sent_slot]);
            end
            if (answer) assert (taken);
            // When nothing has come for long enough, it has come to rest, and where there are lines and requests, a line is under way.
            if (quiet > 4'd8) begin
                assert (!busy);
                for (int i = 0; i < LINKS; i++)
                    if (pushed[i] != given[i] && requests[i] != 0) assert (waiting[i]);
            end
        end
endmodule
