import { jest } from '@jest/globals'

import { describeCorpus } from './support/describe-corpus.js'
import { grpcCorpus } from './support/grpc/corpus.js'

jest.setTimeout(120_000)

describeCorpus(grpcCorpus(), 'envoy')
