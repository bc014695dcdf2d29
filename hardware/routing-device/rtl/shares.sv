// The slots of a buffer, and how many of them each queue has. Not in the paper: there, whoever comes first takes what is free.
//
// A slot is RESERVEd for each open queue, or several, and QUOTA is the most that a queue may have. What is free and reserved for
// nobody is `spare`. With no reserve and a quota of all slots there is nothing to count, and the free list is left alone.
module shares #(
    parameter int ENTRIES = 64,
    parameter int LINKS = 64,
    parameter int RESERVE = 1,
    parameter int QUOTA = ENTRIES,
    localparam int S = ENTRIES > 1 ? $clog2(ENTRIES) : 1,
    localparam int L = LINKS > 1 ? $clog2(LINKS) : 1,
    localparam int C = $clog2(ENTRIES + 1)
) (
    input  logic         clk,
    input  logic         rst,
    input  logic         give,       // a slot of the queue `give_sqi` is free again
    input  logic [S-1:0] give_slot,
    input  logic [L-1:0] give_sqi,
    input  logic [L-1:0] sqi,        // the queue at the port
    input  logic         take,       // it takes a slot; only if it may
    input  logic         open,       // it is opened; only if there is room
    output logic         may_take,
    output logic         has_room,
    output logic [S-1:0] slot,
    output logic [C-1:0] held        // how many it has, before this cycle
);
    logic some;

    free_list #(.ENTRIES(ENTRIES)) list (.*);

    if (RESERVE > 0 || QUOTA < ENTRIES) begin : g_counted
        localparam logic [C-1:0] MOST = C'(QUOTA < ENTRIES ? QUOTA : ENTRIES);
        logic [C-1:0] used[LINKS];
        logic [C-1:0] spare;

        // First what is given back, then what the port wants.
        wire [C-1:0] here = used[sqi] - C'(give && give_sqi == sqi);
        wire [C-1:0] spared = spare + C'(give && used[give_sqi] > C'(RESERVE));
        wire own = here < C'(RESERVE);

        assign may_take = some && here < MOST && (own || spared != 0);
        assign has_room = spared >= C'(RESERVE);
        assign held = used[sqi];

        always_ff @(posedge clk)
            if (rst) begin
                for (int i = 0; i < LINKS; i++) used[i] <= 0;
                spare <= C'(ENTRIES);
            end else begin
                if (give) used[give_sqi] <= used[give_sqi] - 1;
                if (take) used[sqi] <= here + 1;
                if (open) spare <= spared - C'(RESERVE);
                else spare <= spared - C'(take && !own);
            end
    end else begin : g_free_for_all
        assign may_take = some;
        assign has_room = 1;
        assign held = 0;

        wire unused = &{give_sqi, sqi, open};
    end
endmodule
