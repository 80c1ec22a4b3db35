import sys

from heddle.reports import main

sys.exit(main())
