import sys

from heddle.report import main

sys.exit(main())
