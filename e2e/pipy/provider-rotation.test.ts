import { describeProviderRotation } from '../dataplane/support/describe-provider-rotation.js'

describeProviderRotation('pipy', { goesBack: false })
