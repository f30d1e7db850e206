import { jest } from '@jest/globals'

import { describeCorpus } from '../traffic/support/describe-corpus.js'
import { grpcCorpus } from '../traffic/support/grpc/corpus.js'

jest.setTimeout(120_000)

describeCorpus(grpcCorpus(), 'pipy')
