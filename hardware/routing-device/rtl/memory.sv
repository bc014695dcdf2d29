// A buffer: one port to write, one to read. What is written in a cycle is read from the next one on.
module memory #(
    parameter int WIDTH = 1,
    parameter int DEPTH = 2,
    localparam int A = DEPTH > 1 ? $clog2(DEPTH) : 1
) (
    input  logic             clk,
    input  logic             write,
    input  logic [    A-1:0] to,
    input  logic [WIDTH-1:0] value,
    input  logic [    A-1:0] from,
    output logic [WIDTH-1:0] word
);
    logic [WIDTH-1:0] words[DEPTH];

    always_ff @(posedge clk) if (write) words[to] <= value;

    assign word = words[from];
endmodule
