"""A graph network with message passing: gather at sources, a small network, sums at targets."""

import torch
from torch import nn

WIDTH, LAYERS, NODES, EDGES = 128, 3, 20_000, 200_000


class Passing(nn.Module):
    def __init__(self):
        super().__init__()
        self.message = nn.Sequential(nn.Linear(2 * WIDTH, WIDTH), nn.ReLU())
        self.update, self.norm = nn.Linear(2 * WIDTH, WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, nodes, source, target):
        said = self.message(torch.cat((nodes[source], nodes[target]), dim=-1))
        heard = torch.zeros_like(nodes).index_add_(0, target, said)
        degree = torch.zeros_like(nodes[:, 0]).index_add_(0, target, torch.ones_like(said[:, 0]))
        heard = heard / degree.clamp(min=1)[:, None]
        return self.norm(nodes + self.update(torch.cat((nodes, heard), dim=-1)).relu())


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Passing() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, 16)

    def forward(self, nodes, edges):
        for layer in self.layers:
            nodes = layer(nodes, edges[0], edges[1])
        return self.head(nodes)


def get_inputs():
    return [torch.randn(NODES, WIDTH), torch.randint(0, NODES, (2, EDGES))]


def get_init_inputs():
    return []
