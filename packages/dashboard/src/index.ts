export type {
  MeshSummary,
  Refusal,
  Sections,
  ShownProblem,
  ShownProxy,
  Topology,
  TopologyEdge,
  TopologyNode,
  WhatIfAnswer,
  WhatIfQuestion,
  WhyAnswer,
  WhyQuestion,
} from './api.js'
