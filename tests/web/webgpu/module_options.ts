// For programs of the engine in a worker: a GPU to run Programs on.
import { Page } from '../../../packages/tabgrad/src/wasm/page.ts';

export default () => ({ page: new Page() });
