// Which slots of a buffer are taken, and the register that points to the next free one (PIFR, CIFR): it moves on as slots are taken,
// and starts over at the end. A slot that is given back can be taken in the same cycle.
module free_list #(
    parameter int ENTRIES = 64,
    localparam int S = ENTRIES > 1 ? $clog2(ENTRIES) : 1
) (
    input  logic         clk,
    input  logic         rst,
    input  logic         give,
    input  logic [S-1:0] give_slot,
    input  logic         take,       // only if there are some
    output logic         some,
    output logic [S-1:0] slot        // the one that is taken
);
    localparam logic [ENTRIES-1:0] ONE = 1;

    logic [ENTRIES-1:0] valid;
    logic [S-1:0] next;

    // The lowest free slot at or above the register; if there is none, the lowest of all. The one with no candidate below: `below` is
    // made by doubling, since a chain from slot to slot would be the longest way in the device.
    wire [ENTRIES-1:0] given = give ? ONE << give_slot : '0;
    wire [ENTRIES-1:0] free = ~(valid & ~given);
    wire [ENTRIES-1:0] ahead = free & ({ENTRIES{1'b1}} << next);
    wire [ENTRIES-1:0] candidates = ahead != 0 ? ahead : free;
    logic [ENTRIES-1:0] below;
    wire [ENTRIES-1:0] first = candidates & ~below;

    always_comb begin
        below = candidates << 1;
        for (int i = 0; i < S; i++) below |= below << (1 << i);
    end

    assign some = free != 0;

    always_comb begin
        slot = 0;
        for (int i = 0; i < ENTRIES; i++) if (first[i]) slot |= S'(i);
    end

    always_ff @(posedge clk)
        if (rst) begin
            valid <= 0;
            next <= 0;
        end else begin
            valid <= ~free | (take ? first : '0);
            if (take) next <= slot == S'(ENTRIES - 1) ? '0 : slot + S'(1);
        end
endmodule
