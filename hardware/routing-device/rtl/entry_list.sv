// The head and the tail register of a list (PIHR and PITR, CIHR and CITR, POHR and POTR). Who is next stands in the slots, in a memory
// beside: the list reads the second entry there when its head goes, and says when the tail's field has to be written.
//
// In a cycle the head goes first, then an entry comes. So a list of one entry that does both is empty in between, and the two never
// meet at one slot of the memory.
module entry_list #(
    parameter int S = 1
) (
    input  logic         clk,
    input  logic         rst,
    input  logic         pop,     // the head goes
    input  logic [S-1:0] second,  // what stands in the head's slot
    input  logic         push,    // `slot` comes
    input  logic [S-1:0] slot,
    output logic         some,    // it has a head
    output logic [S-1:0] head,
    output logic         link,    // the slot `tail` gets `slot` as its next
    output logic [S-1:0] tail
);
    wire left = some && !(pop && head == tail);

    assign link = push && left;

    always_ff @(posedge clk) begin
        if (rst) some <= 0;
        else some <= left || push;
        if (push && !left) head <= slot;
        else if (pop) head <= second;
        if (push) tail <= slot;
    end
endmodule
