import { stopSharedService } from './global-setup.ts';

export default (): Promise<unknown> => stopSharedService();
